"""Dataflow patterns of Relax: TVM's objects and ours (`pairs`), programs to match on, and matches (`match`)."""
