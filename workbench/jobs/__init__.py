"""Jobs of the child processes, one file for each kind; imported only there, by the table in `__main__.py`.

The notebook sends a name of the table and arguments of JSON's types. The newest builds are kept (`build.py`), so counting,
timing and racing one configuration compile it once; traced modules are kept by number (`passes.py`).
"""
