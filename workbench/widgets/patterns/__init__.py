"""PatternInspector: where a dataflow pattern matches a program, and why it fails elsewhere."""
