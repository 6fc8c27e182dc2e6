"""Relax (apache-tvm 0.26 and later).

`frontend.py`, `passes/catalog.py`, `compiler/build.py` and `patterns/match.py` are the facets of the
dialect (`dialects/facets.py`). `parser/` checks text before TVM's parser sees it; `from_relay/` implements `wb.to_relax`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.dialects.catalog import Passes
    from workbench.dialects.compiler.built import Compiler
    from workbench.dialects.editable import Editable
    from workbench.dialects.facets import CodeText, Dialect, Frontend, Importer, Patterns


class Relax:
    """Relax as a Dialect: each facet is a module, imported on first use."""

    name = "relax"

    @property
    def frontend(self) -> Frontend:
        from workbench.dialects.relax import frontend

        return frontend

    @property
    def passes(self) -> Passes:
        from workbench.dialects.relax.passes.catalog import PASSES

        return PASSES

    @property
    def compiler(self) -> Compiler:
        from workbench.dialects.relax.compiler.build import COMPILER

        return COMPILER

    @property
    def patterns(self) -> Patterns:
        from workbench.dialects.relax.patterns import match

        return match

    def editable(self, module: Any) -> Editable:
        from workbench.dialects.relax.passes.editing import Located

        return Located(module)

    @property
    def importers(self) -> Mapping[str, Importer]:
        from workbench.dialects.relax.importers import IMPORTERS

        return IMPORTERS

    def code(self, tuned: bool) -> CodeText:
        from workbench.dialects.relax import python_code

        return python_code.TUNED if tuned else python_code.CODE


DIALECT: Dialect = Relax()
