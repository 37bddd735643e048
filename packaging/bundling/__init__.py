"""Bundles of the program for Linux and Windows: `python3 dev.py package`. Standard library only."""
