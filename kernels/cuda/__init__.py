"""CUDA kernels: sources, and how they become modules for a card."""
