"""QObjects: commands in, events out; the only place where threads meet Qt."""
