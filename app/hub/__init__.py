"""The library, what is on this disk, and the hubs where more can be had."""

from app.hub.environment import apply_settings

# Before huggingface_hub is imported anywhere.
apply_settings()
