"""Checks of Relax text: TVM's parser evaluates expressions, so it gets only text of a tree that was accepted here."""
