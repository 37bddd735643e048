"""The executor for NVIDIA cards: a list of kernel launches per batch, captured as a CUDA Graph."""
