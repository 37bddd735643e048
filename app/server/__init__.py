"""The localhost port: OpenAI's endpoints over the engine that the window uses too."""
