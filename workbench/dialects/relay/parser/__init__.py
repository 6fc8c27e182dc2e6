"""Reads the text that TVM prints for Relay, without TVM.

TVM's printer is the one interface that every Relay-era version shares, it takes one call for any module, and users
paste its output; so the graph of a live module is read from its text too. Nothing recurses, since graphs of real models
nest deeply: blocks are generators, and calls within calls are a list of open calls. The reader accepts only the form that
TVM prints; pasted text is repaired first (paste/).

Grammar: https://tvm.apache.org/docs/v0.17.0/reference/langref/relay_expr.html
"""

from workbench.dialects.relay.parser.reader import parse as parse
