"""Numeric kernels; they know nothing of the app."""
