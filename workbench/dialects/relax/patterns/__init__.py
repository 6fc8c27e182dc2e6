"""Dataflow patterns of Relax: programs to match on, and matches, with TVM's objects for our patterns (`match`)."""
