"""The text of a reply, taken apart while it is streamed: content, reasoning, calls of tools."""
