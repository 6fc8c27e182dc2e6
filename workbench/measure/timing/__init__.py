"""Builds, checks and runs timed honestly, in a child process."""
