"""Builds and runs in the child process: the code that the compilers of both dialects share."""
