"""The subcommands, one file each: they read options, call the library and print."""
