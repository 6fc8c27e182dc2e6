"""Workbench: switch passes on and off, and see the graph, the kernel count and the time change."""
