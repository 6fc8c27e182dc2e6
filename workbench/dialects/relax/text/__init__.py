"""Checks Relax text: TVM's parser evaluates expressions, so it gets text made from a tree that was accepted here."""
