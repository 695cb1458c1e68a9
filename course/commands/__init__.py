"""The command line's parts, one file a command: thin, with flags named as the Python arguments."""
