"""Models from elsewhere, to Relay.

TVM folds constants while it converts, which builds code, and for that it looks for tuned schedules on the network, with
retries, unless it is told not to.
"""

import os

os.environ.setdefault("TOPHUB_LOCATION", "NONE")
