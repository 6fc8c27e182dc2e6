"""The view of memory plans."""
