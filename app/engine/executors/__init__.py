"""The programs that run a native checkpoint, behind one interface."""
