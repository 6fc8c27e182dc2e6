"""Generate Python that builds a workload under a Config, with TVM alone."""

from __future__ import annotations

from workbench.dialects.base import Workload
from workbench.dialects.registry import known_dialect
from workbench.errors import WorkbenchError
from workbench.pipeline.codegen import build_text, compiler_code
from workbench.pipeline.config import Config
from workbench.pipeline.run import trace
from workbench.pipeline.step import State
from workbench.pipeline.trace import Trace
from workbench.target_text import TargetLike, target_text


def build_code(workload: Workload, config: Config, target: TargetLike) -> str:
    """Return Python that builds a workload under a Config: a module with `built(mod, params)`.

    The code needs TVM alone. If the Config has passes of the workbench, such as CutFusion, the code imports them.

    Parameters
    ----------
    target
        The target in the code.

    Raises
    ------
    WorkbenchError
        A pass of the Config's pipeline fails on the workload.
    """
    words = known_dialect(workload.dialect).code(bool(config.schedules))
    build = {**config.context().to_data(), "target": target_text(target)}
    if config.schedules:
        build["options"] = {**words.config, **config.options}
    start = State(workload.module, lambda: workload.graph, workload.text)
    if not config.pipeline:
        whole = Trace(workload.name, workload.dialect, (), start, config.opt_level, build, workload)
        return build_text(whole, words)
    made = trace(workload, config.pipeline, config.opt_level)
    if made.failed is not None:
        raise WorkbenchError(f"{made.failed.name} failed: {made.failed.error}")
    compiler = "\n\n\n".join(compiler_code(build, words)).replace("def built(", "def compiled(")
    return f"{made.code()}\n\n{compiler}\n\n\n{_BUILT}"


_BUILT = '''\
def built(mod, params=None):
    """Run the passes and compile the module after them."""
    return compiled(transformed(mod, params), params)
'''
