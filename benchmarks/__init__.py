"""`make bench`: our figures beside a peer's in the same run, against the bars."""
