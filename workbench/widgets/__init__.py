"""The widgets, one folder each. A widget and its page exchange traits and messages only.

A verb of the page is a method that `messages.py` marks, and `page_types.py` declares the JSON for the page; the TypeScript types
are generated from both. `host.py` receives the messages, and `background.py` does the work. `payload.py` writes a picture as columns
of bytes. `saved_page.py` puts a widget's traits and the bundle into one HTML file; `still.py` makes the picture that a page without
a kernel shows.

The page's code is in `js/widgets/`. A step of the stepper needs no request to the kernel: the page keeps the states it received.
"""
