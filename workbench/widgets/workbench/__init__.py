"""The Workbench: switch passes on and off, with the effect on the graph, the kernel count and the time."""
