"""Search over configurations: a space of them, a strategy that chooses, a log that remembers, a result that can be rerun."""
