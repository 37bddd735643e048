"""Nouns every room shares: errors, events, jobs, settings, paths, logging, the machine."""
