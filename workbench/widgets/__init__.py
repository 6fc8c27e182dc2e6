"""The widgets, one folder each. A widget and its page exchange traits and messages only.

`messages.py` declares the messages and the traits' JSON; the TypeScript types are generated from it. `payload.py` writes a
picture as columns of bytes. Work runs in `background.py`. `saved_page.py` puts a widget's traits and the bundle into one HTML
file; `still.py` makes the picture that a page without a kernel shows.

The page's code is in `js/widgets/`. A step of the stepper needs no request to the kernel: the page keeps the states it received.
"""
