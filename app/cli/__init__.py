"""The command line: one file per subcommand, the only place that prints."""

# Here, so that the entry can tell a command from a file without importing any of them.
COMMANDS = (
    "inspect",
    "pull",
    "validate",
    "convert",
    "chat",
    "eval",
    "bench",
    "list",
    "rm",
    "export",
)
