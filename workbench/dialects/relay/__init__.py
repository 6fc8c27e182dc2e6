"""Relay (TVM 0.8 to 0.19).

`parser/` reads the text that TVM prints, `paste/` makes such text from anything that users paste; both run without TVM.
`frontend.py`, `passes/catalog.py`, `compiler/build.py` and `patterns/match.py` are the facets of the
dialect (`dialects/facets.py`); they need its TVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.dialects.catalog import Passes
    from workbench.dialects.compiler.built import Compiler
    from workbench.dialects.editable import Editable
    from workbench.dialects.facets import CodeText, Dialect, Frontend, Importer, Patterns


class Relay:
    """Relay as a Dialect: each facet is a module, imported on first use."""

    name = "relay"

    @property
    def frontend(self) -> Frontend:
        from workbench.dialects.relay import frontend

        return frontend

    @property
    def passes(self) -> Passes:
        from workbench.dialects.relay.passes.catalog import PASSES

        return PASSES

    @property
    def compiler(self) -> Compiler:
        from workbench.dialects.relay.compiler.build import COMPILER

        return COMPILER

    @property
    def patterns(self) -> Patterns:
        from workbench.dialects.relay.patterns import match

        return match

    def editable(self, module: Any) -> Editable:
        from tvm import relay

        from workbench.dialects.relay.passes.editing import Located

        return Located(relay.transform.InferType()(module))

    @property
    def importers(self) -> Mapping[str, Importer]:
        from workbench.dialects.relay.importers import IMPORTERS

        return IMPORTERS

    def code(self, tuned: bool) -> CodeText:
        from workbench.dialects.relay import python_code

        return python_code.TUNED if tuned else python_code.CODE


DIALECT: Dialect = Relay()
