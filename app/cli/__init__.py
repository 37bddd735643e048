"""The command line: one file per subcommand, the only place that prints."""
