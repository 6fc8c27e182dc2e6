"""The public names of `workbench.testing` and their modules."""

from workbench.testing.programs import program as program
from workbench.testing.programs import relax_programs as relax_programs
from workbench.testing.programs import relay_programs as relay_programs
from workbench.testing.trial import assert_pass as assert_pass
