"""The library, what is on this disk, and the hubs where more can be had."""

import os

# Before huggingface_hub is imported anywhere: it would tell the hub which packages and tools are
# on this machine.
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
