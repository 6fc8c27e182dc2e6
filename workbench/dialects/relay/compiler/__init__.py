"""Relay in the child process: builds and runs (`build`), the calls of a build (`kernels`), and its memory without one (`optimization`)."""
