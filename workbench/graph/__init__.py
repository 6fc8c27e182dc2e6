"""Dialect-independent compiler graphs: model, JSON, identity, diff, layers. Standard library only.

A Graph is one dataflow with groups. A function that is called where it is written is drawn in place: its nodes are ordinary
nodes, its arguments ordinary edges, and the function a Group. Node ids are indexes in topological order, so dominators need
one pass. No algorithm here recurses, because models may nest arbitrarily deep.

`identity.py` numbers values: equal numbers mean equal programs from the inputs on. `diff.py` pairs equal values first, grows
the mapping to neighbours with the same operator in the same argument position, then finds merges and splits by
congruence; `refine.py` searches all mappings of small graphs. The result is a GraphDiff (`changes.py`).

A graph that a pass made knows the graph before it (`Graph.history`). `diff` of two graphs of one trace composes the diffs
between them (`changes.py`), so a whole pipeline and its steps are one story, and a graph has the layers of the trace's first one.

Layers are computed when a graph is drawn (`layers.layered`) and are never saved. Where most operators have an importer's
path, these paths are the layers (`scopes.py`); otherwise the repeats along the chain of post-dominators (`layers.py`).

`received.py` reads untrusted JSON: it bounds depth, size and numbers before it parses.
"""
