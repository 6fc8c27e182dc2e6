"""Search over configurations: a space, a strategy, a scheduler, a log, and a result that can be rerun.

`space.py` makes Configs of knobs, `search.py` chooses the next, `evaluate.py` makes a Trial of it: its passes run first, so an
illegal, equal or far slower candidate is never built. `scheduler.py` takes all decisions of a search in one thread, and tries candidates here
or on a tracker's devices. `run.py` has the user's interface: watch, pause, resume and stop a search. At its end the winner is checked, and
raced against the default (`result.py`).
"""
