"""Reads the text that TVM prints for Relay, without TVM.

TVM's printer is the one interface that every Relay-era version shares, it costs one call whatever the module's size, and
people paste its output; so the graph of a live module is read from its text too. The reader is an explicit stack of
unfinished constructs (`names.Frame`), never recursion: graphs nest as deeply as people's models do. It takes what TVM
prints and nothing else; what people paste is repaired before (paste/).

tokens -> cursor -> attributes -> expressions -> branches -> functions -> module, each a class over the one before.
Grammar: https://tvm.apache.org/docs/v0.17.0/reference/langref/relay_expr.html
"""

from workbench.dialects.relay.text.module import parse as parse
