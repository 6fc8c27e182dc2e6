"""Our passes for Relay. Each is a TVM Pass: it runs in a Pipeline, by name or as an object, and in TVM's own Sequential.

`__init__.pyi` lists them; each is imported, with TVM, on first use. `catalog.py` lists them with TVM's.
"""

from workbench import lazy

OURS = lazy.homes(__file__)
"name of each pass -> its module"

__getattr__ = lazy.getter(__name__, OURS)
