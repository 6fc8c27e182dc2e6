"""One long-lived child process per kind of work: whatever can end a process, or must not block one, runs there.

`parent.py` is the notebook's side: one job at a time, with a timeout, a memory limit and a cancel. `keeper.py` is the child's
parent, a process without TVM: it ends the child and every process below it, also when the notebook is killed. A workload
is written to a folder once, its parameters as one file that is mapped. Nothing here knows what a job does: the
jobs and the table of their names are in `workbench/jobs/`.
"""
