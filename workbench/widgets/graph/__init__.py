"""The views of graphs: one graph, and two with their difference."""
