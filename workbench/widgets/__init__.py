"""Layer 5: the widgets. One small class a widget; its traits are its whole contract with the page."""
