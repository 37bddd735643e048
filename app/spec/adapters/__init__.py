"""One model family per file, each a short declaration."""
