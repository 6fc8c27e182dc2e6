"""Find the cause of a wrong, slow, large or crashing build: the pass, the operators, the kernel, the decision.

`symptoms.py` has the questions that can be asked of a build, each with the answer yes, no or can't tell; `ddmin.py` finds the smallest
subset that shows a symptom. Builds and passes that may end the process run in the child process that tries passes.
`bisect/` finds the passes and fused edges, `reduce/` the smallest program, `kernel_errors/` the kernel. `remarks/` has each decision of the
passes as a record, `lints/` the costs that a few passes remove.
"""
