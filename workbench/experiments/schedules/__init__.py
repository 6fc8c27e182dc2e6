"""MetaSchedule for a model's kernels: the run, its search, its database.

A Config may name a database of schedules. The kernels that can be tuned are those that a real build looks up in a database
that records lookups. A candidate is one job of a child process, and is in the database before the next one runs; the first
candidate on a CPU is the kernel without a schedule.
"""
