"""Layer 0: the neutral picture of a compiler graph. Standard library only; no TVM object inside."""
