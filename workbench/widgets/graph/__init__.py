"""The views of graphs: one graph, and two with what changed between them."""
