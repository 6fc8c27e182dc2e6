"""PassStepper: a trace, step by step."""
