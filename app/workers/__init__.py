"""The same headless services in a child process: spawn, pipe, heartbeat, restart."""
