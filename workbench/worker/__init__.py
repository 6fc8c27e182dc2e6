"""One long-lived child process for each kind of work that can end or block a process.

`parent.py` is the notebook's side: one job at a time, with a timeout, a memory limit and a cancel. `fork_server.py` is a process
that imports TVM once; each child is a fork of it, which starts in milliseconds and shares its memory. `supervisor.py` is the child's
parent: it ends the child and every process below it, also when the notebook is killed. A workload
is written to a folder once, its parameters as one file that is mapped. This package does not depend on the jobs: they and
the table of their names are in `workbench/jobs/`.
"""
