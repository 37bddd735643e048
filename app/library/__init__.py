"""What is on this disk: checkpoints, sources, downloads; their sizes, use, and removal."""
