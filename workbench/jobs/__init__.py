"""Jobs of the child processes, one file a kind; imported only there, through `table`."""
