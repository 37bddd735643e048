"""The command line: one file per subcommand, the only place that prints."""

# Here, so that the entry can tell a command from a file without importing any of them.
COMMANDS = (
    "inspect",
    "search",
    "pull",
    "validate",
    "convert",
    "chat",
    "serve",
    "eval",
    "bench",
    "list",
    "rm",
    "verify",
    "library",
    "export",
)
