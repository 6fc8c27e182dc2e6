"""Analyses: they read Graphs, need no TVM, and keep a reason for each verdict.

Where an outcome is TVM's to decide (which branches a pass merges, which chain it shortens), `Graph.ask` asks the real pass;
siblings, conditions and known hazards come from the graph alone. Without TVM the report is "not tried: needs TVM".

`fusion/`, `branches/`, `chains/` and `patterns/` are the four questions; `legality.py` decides beforehand whether an edit can
be made, `regions.py` finds what is between a node and its post-dominator, `units.py` links a build's calls to the graph.
"""
