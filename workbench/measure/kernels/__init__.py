"""What a build calls: counted, with its code and its place in the graph."""
