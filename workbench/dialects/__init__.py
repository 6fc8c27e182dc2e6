"""TVM's IRs, each behind one typed interface (`facets.py`). A third is a package like `relax` and a name in this list."""

from workbench.dialects import registry
from workbench.dialects.relax import DIALECT as RELAX
from workbench.dialects.relay import DIALECT as RELAY

registry.register(RELAY, RELAX)
