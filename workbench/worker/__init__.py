"""One long-lived child process a notebook: whatever can end a process, or must not block one, runs there."""
