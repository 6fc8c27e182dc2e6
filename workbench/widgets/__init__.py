"""The widgets: one folder each. Traits and messages are the whole contract of a widget with its page."""
