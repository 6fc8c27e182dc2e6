"""Relax in the child process: builds, runs and their values (`build`), the calls of a build (`kernels`), and its memory (`planned`)."""
