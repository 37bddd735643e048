"""Community formats become native checkpoints, offline and strictly."""
