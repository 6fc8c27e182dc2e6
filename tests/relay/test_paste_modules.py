"""Text becomes the module that TVM's own parser makes of it, and pasted text one that type-checks; what was assumed is told."""

from __future__ import annotations

import json
from collections import UserDict

import numpy as np
import pytest
import tvm
from breadth import breadth
from pastes import MODULES, paste, seeds
from relay_samples import opt_3
from small_samples import SMALL
from tvm import relay

import workbench as wb
from workbench.dialects.registry import dialect
from workbench.dialects.relay.diagnostics import as_error
from workbench.dialects.relay.objects import module_of
from workbench.dialects.relay.parser.reader import parse
from workbench.dialects.relay.paste.reading import read_all
from workbench.errors import LoadError


def parsed_by_tvm(text):
    with as_error(LoadError):
        return relay.transform.InferType()(tvm.relay.parse(text))


def plain(graph):
    """The graph without digests of constants' values, which text alone does not tell, and spans, which TVM's parser makes."""
    graph = json.loads(graph.to_json())
    for node in graph["nodes"]:
        attrs = {name: value for name, value in node.pop("attrs", {}).items() if name != "digest"}
        node.update({"attrs": attrs} if attrs else {}, span="")
    return graph


def modules(name, **options):
    """A sample and what every pass of the opt-3 pipeline makes of it, each once."""
    workload = wb.samples.load(name, **options)
    yield "as it is", workload.module
    trace = wb.trace(workload, opt_3())
    assert trace.failed is None
    for step in trace.steps:
        if step.changed:
            yield step.name, step.state_after.module


def round_trip(name, module):
    """One module through text: the graph of the text is the graph of what TVM's parser makes of the text."""
    text = module.astext(show_meta_data=True)
    (reading,) = read_all(text)
    theirs = parsed_by_tvm(text)
    assert not reading.repairs
    assert plain(reading.graph("g")) == plain(dialect("relay").frontend.graph(theirs, "g")), name
    return theirs, reading


@pytest.mark.parametrize("name", breadth(sorted(SMALL), "attention", "branches", "parallel_cast"))
def test_a_small_sample_after_each_pass_reads_from_text_as_tvm_reads_it(name, tell):
    for step, module in modules(name, **SMALL[name]):
        theirs, reading = round_trip(f"{name}, {step}", module)
        constants = {f"meta[relay.Constant][{i}]": c for i, c in enumerate(kept(reading))}
        ours, assumed = module_of(reading.module, constants, {})
        assert not assumed
        assert tvm.ir.structural_equal(relay.transform.InferType()(ours), theirs), f"{name}, {step}"


def kept(reading):
    return tvm.ir.load_json(reading.metadata)["relay.Constant"] if reading.metadata else []


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_sample_after_each_pass_reads_from_text_as_tvm_reads_it(name, tell):
    steps = [round_trip(f"{name}, {step}", module) for step, module in modules(name)]
    tell(
        f"{name} in full: text and module agree on the graph after {len(steps)} different states of the opt-3 pipeline"
    )


@pytest.mark.parametrize("name", MODULES)
def test_own_pastes_become_modules(name):
    found = wb.load_all(paste(name))
    assert len(found) == MODULES[name]
    for workload in found:
        if any(node.op == "device_copy" for node in workload.graph.ops):
            with pytest.raises(LoadError, match="device_copy cannot be made: its attributes are not in the text"):
                _ = workload.module
            assert any("TVM makes no module of it" in note for note in workload.notes)
        else:
            assert isinstance(workload.module, tvm.IRModule)


@pytest.mark.skipif(not seeds(), reason="the folder of posts is not here; tests/pastes holds the same kinds")
def test_every_block_of_the_posts_becomes_a_module_but_what_lacks_its_devices():
    loaded = [workload for path in seeds() for workload in wb.load_all(path.read_text(encoding="utf-8"))]
    assert len(loaded) == 25
    without = [workload for workload in loaded if workload.__class__ is not wb.Workload]
    assert [[node.op for node in w.graph.ops if node.op == "device_copy"] for w in without] == [["device_copy"] * 3]


def test_the_numbers_of_kernels_in_a_pasted_program():
    before, after = wb.load_all(paste("casts"))[1:]
    assert wb.trace(before, "FuseOps{fuse_opt_level=2}").end.graph.kernel_count == 3
    assert [group.kind for group in after.graph.groups].count("primitive") == 1


def test_constants_without_values_are_seeded_and_told():
    text = "%0 = add(%x, meta[relay.Constant][3] /* ty=Tensor[(2), float32] */) /* ty=Tensor[(2), float32] */;"
    first, again = (wb.load(text, {"x": np.ones(2, "float32")}) for _ in range(2))
    assert tvm.ir.structural_equal(first.module, again.module)
    assert any("the text has no values for meta[relay.Constant][3]" in note for note in first.notes)
    assert list(first.params) == ["x"]


def test_a_given_array_tells_the_type_that_the_text_leaves_open():
    text = '%0 = cast(%x, dtype="float32") /* ty=Tensor[(2), float32] */;'
    assert any("int32 is a guess" in note for note in wb.load(text).notes)
    given = wb.load(text, {"x": np.ones(2, "uint8")})
    assert given.graph.nodes[0].type == "Tensor[(2), uint8]"
    assert not any("guess" in note for note in given.notes)


def test_the_channels_of_a_convolution_are_taken_from_its_other_operand():
    before, after = wb.load_all(paste("adds"))
    assert "%data is taken for a Tensor[(1, 3, 14, 14), float32]: 3 input channels are a guess" in before.notes
    assert "%data is taken for a Tensor[(1, 4, 14, 14), float32]: its other operand gives the channels" in after.notes


def test_what_nothing_tells_leaves_the_graph_and_says_why():
    workload = wb.load("%0 = nn.pad(%x, %y);\n%1 = exp(%0);")
    assert [node.op for node in workload.graph.ops] == ["nn.pad", "exp"]
    with pytest.raises(LoadError, match="a graph and no module"):
        _ = workload.module
    with pytest.raises(LoadError, match=r"a graph and no module: .* GraphView"):
        wb.trace(workload, "FuseOps")


def test_tvmscript_is_told_where_it_can_be_read():
    with pytest.raises(LoadError, match=r"this is TVMScript.*use the main environment"):
        wb.load("@I.ir_module\nclass Module:\n    pass\n")


def test_an_attribute_that_this_tvm_does_not_know_is_left_out_and_told():
    workload = wb.load("so:\ndef @main(%x: Tensor[(2, 3), float32]) { nn.softmax(%x, axis=0, newest=True) }")
    assert workload.graph.ops[0].attrs == {"axis": 0}
    assert any("nn.softmax has no attribute newest" in note for note in workload.notes)


def test_an_operator_that_this_tvm_does_not_know_is_named_with_its_line():
    workload = wb.load("> def @main(%x: Tensor[(2, 3), float32]) {\n> nn.newest(%x)\n> }")
    with pytest.raises(LoadError, match=r"line 2, column 1: .* has no operator nn\.newest"):
        _ = workload.module
    with pytest.raises(LoadError, match=r"line 1, column 42: .* no operator nn\.relux; did you mean nn\.relu"):
        wb.load("def @main(%x: Tensor[(2, 3), float32]) { nn.relux(%x) }")


def test_a_type_that_the_text_states_and_tvm_does_not_infer_is_told():
    workload = wb.load("so:\ndef @main(%x: Tensor[(2), int8]) {\n  exp(%x) /* ty=Tensor[(3), int8] */\n}")
    assert workload.notes[-1].startswith("1 types differ from what the text states; the first is that of exp in line 2")


def test_names_that_tvms_parser_does_not_take_stay():
    workload = wb.load("%2 = add(%1, %conv/weight:0) /* ty=Tensor[(2), int8] */;", {"1": np.ones(2, "int8")})
    assert {node.op for node in workload.graph.nodes if node.kind == "param"} == {"1", "conv/weight:0"}


def test_parameters_are_kept_for_text_that_needs_no_repair():
    text = "def @main(%x: Tensor[(2), float32]) { exp(%x) }"
    assert list(wb.load(text, {"x": np.ones(2, "float32")}).params) == ["x"]


class Walked(UserDict[str, object]):
    """Metadata that counts how often all its keys are read."""

    walks = 0

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


def test_metadata_is_not_read_whole_for_each_attribute():
    lines = "".join(f"  %{i + 1} = sum(%{i}, axis=[1], keepdims=True);\n" for i in range(20))
    text = f"def @main(%x: Tensor[(2, 3), float32]) {{\n  %0 = exp(%x);\n{lines}  %20\n}}\n"
    metadata = Walked()
    module_of(parse(text), metadata, {})
    assert metadata.walks < 20
