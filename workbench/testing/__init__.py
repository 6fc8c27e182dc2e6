"""Tools for the tests of passes: generated programs, and assertions about a pass."""
