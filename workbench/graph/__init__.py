"""The neutral picture of a compiler graph: model, JSON, identity, diff, layers. Standard library only.

A Graph is one dataflow with groups. A function that is called where it is written is drawn in place: its nodes are ordinary
nodes, its arguments ordinary edges, itself a Group. Node ids are places in topological order, so dominators need one pass.
No algorithm here recurses: models nest as deeply as people build them.

`identity.py` numbers values: equal numbers mean equal programs from the inputs on. `diff.py` pairs equal values first, grows
the mapping to neighbours with the same operator in the same argument position, then finds merges and splits by
congruence; `refine.py` looks at every better mapping of small graphs; `compose.py` joins the diffs of a trace's steps.

Layers are derived when a graph is drawn (`Graph.layered`) and are in no saved graph. Where most operators have an importer's
path, these paths are the layers (`scopes.py`); otherwise the repeats along the chain of post-dominators (`layers.py`).

JSON from elsewhere is read through `received.py`: depth, size and numbers are bounded before anything is parsed.
"""
