"""Analyses of Graphs, each verdict with a reason; they need no TVM.

Where TVM decides an outcome (which branches a pass merges, which chain it shortens), `Graph.ask` runs the real pass;
siblings, conditions and known hazards come from the graph alone. Without TVM the report is "not tried: needs TVM".

`fusion/`, `branches/`, `chains/` and `patterns/` are the four questions; `legality.py` decides beforehand whether an edit can
be made, `regions.py` finds the nodes between a node and its post-dominator, `units.py` links a build's calls to the graph.
"""
