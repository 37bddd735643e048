"""The native checkpoint: its schemes, manifest, reader and writer."""
