"""Chats with another server that speaks OpenAI's words: vLLM, llama-server, this program."""
