"""Property tests draw the same examples on every run: a red run is the change's doing, not the draw's.

`pytest --hypothesis-profile=search` looks for new ones.
"""

from hypothesis import settings

settings.register_profile("workbench", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("search", deadline=None, max_examples=5000)
if settings.get_current_profile_name() in ("default", "ci"):
    settings.load_profile("workbench")
