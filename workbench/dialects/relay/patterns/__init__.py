"""Dataflow patterns of Relay: TVM's objects and ours (`pairs`), programs to match on, and matches (`match`)."""
