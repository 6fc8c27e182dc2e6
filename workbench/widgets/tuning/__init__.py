"""TunePanel: a search that is started, paused, stopped and applied from the page."""
