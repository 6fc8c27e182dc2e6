"""`wb.bisect`: the smallest set of changes that makes a symptom show, and the edges whose fusion it needs.

`probing.py` lists the changes between a configuration with the symptom and one without it (passes, options, the opt level), asks for
the symptom of a subset of them, and cuts fusion at edges. `search.py` has `wb.bisect`, the order of the questions and the result.
"""
