"""The widgets: one folder each. Traits and messages are the whole contract of a widget with its page.

`messages.py` declares the messages and the traits' JSON; the TypeScript types are generated from it. `payload.py` writes a picture as
columns of bytes. Work runs in `background.py`. `saved_page.py` puts a widget's traits and the bundle into one HTML
file; `still.py` makes the picture that a page without a kernel shows.

Page code: `js/views/`. A step of the stepper costs no question to the kernel: the page keeps the states it was sent.
"""
