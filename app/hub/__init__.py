"""The library: what is on this disk."""
