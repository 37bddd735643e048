"""Widgets and pages; they know signals, not engines."""
