"""MetaSchedule for a model's kernels: the run, its jobs in a child, its database."""
