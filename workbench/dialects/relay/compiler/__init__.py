"""Relay in the child process: builds (`build`), the calls of a build (`kernels`), and runs (`running`)."""
