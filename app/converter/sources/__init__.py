"""One file per community format; each yields tensors under canonical names, layer by layer."""
