"""`wb.bisect`: the smallest set of changes that makes a symptom show, and the edges whose fusion it needs.

`changes.py` lists the changes between a configuration with the symptom and one without it: passes, options, the opt level. `variants.py`
has what a subset of them builds, `probing.py` asks for the symptom and remembers the answers, `fused_edges.py` cuts fusion at edges.
`search.py` has `wb.bisect` and the order of the questions, `culprit.py` its result.
"""
