"""Layer 3: builds and timings, in a child process, with the conditions beside every number."""
