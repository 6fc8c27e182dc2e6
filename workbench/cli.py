"""The tvm-workbench command: its options. A subcommand is the function of its name in commands.py, or one here for environments."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from workbench.errors import WorkbenchError
from workbench.terminal import print_line, visible
from workbench.worker.limits import TIMEOUT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    0 done; 1 an error, its sentence on stderr; 2 bad usage, or a damaged file of remarks; 3 done, and a pass or a configuration
    failed, or a decision was lost.
    """
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except WorkbenchError as error:
        print_line(f"tvm-workbench: {error}", sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, such as `head`, closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print_line("tvm-workbench: interrupted; run it again and it starts over cleanly.", sys.stderr)
        return 130


Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"  # noqa: SLF001  argparse has no public name for it


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(visible(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tvm-workbench",
        description="See what a tensor compiler does to a graph, pass by pass; change it; measure the effect.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in (
        _add_trace,
        _add_show,
        _add_kernels,
        _add_schedules,
        _add_measure,
        _add_remarks,
        _add_migrate,
        _add_export,
        _add_setup,
    ):
        add(commands)
    return parser


_EXAMPLES = """\
a model is a .relay, .txt, .json, .py, .onnx or .tflite file, or `sample:NAME`, `sample:bert{layers=2}`

  tvm-workbench trace model.relay -p "SimplifyInference,FoldConstant,-FoldScaleAxis,FuseOps{fuse_opt_level=2}" -o m.wbtrace
  tvm-workbench trace model.relay --build llvm -o build.wbtrace     the passes of relay.build itself
  tvm-workbench trace model.onnx -p LegalizeOps,AnnotateTIROpPattern,FuseOps --changed       with Relax
  tvm-workbench show m.wbtrace --open                               step through it in a browser
  tvm-workbench kernels model.relay --disable FoldConstant
  tvm-workbench schedules model.onnx --target "cuda -arch=sm_80"
  tvm-workbench show model.onnx --input ids=1,128                   shapes that the file leaves open
  tvm-workbench measure model.relay -c 0 -c 3 -c "FoldConstant,FuseOps"
  tvm-workbench remarks model.onnx -o main.opt.yaml                 each decision as a record
  tvm-workbench remarks --diff main.opt.yaml branch.opt.yaml        fails in CI if a fusion is lost
  tvm-workbench migrate model.onnx -o report.html                   Relay and Relax side by side
  tvm-workbench export m.wbtrace again.py                           Python that repeats it with TVM alone

exit status: 0 done, 1 an error (one sentence on stderr), 2 bad usage or a damaged file of remarks, 3 done but a pass or a configuration failed,
or a fusion, a merge or a fold is lost"""


_MODEL = "a .relay, .txt, .json, .py, .onnx or .tflite file, or sample:NAME"
_SHOWN = "a .wbtrace, a graph's .json, or a model"
_TARGET = "as TVM writes it (default: llvm, for this CPU)"
_TARGETS = "as TVM writes it; can be repeated (default: llvm)"
_INPUT = "the shape of an input that a model leaves open, ids=1,128, or a dimension of a Relax program, n=128; can be repeated"
_PARAMS = "parameters by name, as numpy.savez or TVM's save_param_dict writes them"
_TRUST = "compile and run the kernels that the file brings: you trust its author"
_OPTIONS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "model": (("model",), {"help": _MODEL}),
    "inputs": (("--input",), {"action": "append", "dest": "inputs", "metavar": "NAME=SHAPE", "help": _INPUT}),
    "params": (("--params",), {"type": Path, "metavar": "FILE", "help": _PARAMS}),
    "trust": (("--trust",), {"action": "store_true", "help": _TRUST}),
    "timeout": (
        ("--timeout",),
        {"type": float, "default": TIMEOUT, "metavar": "SECONDS", "help": f"for each build (default: {TIMEOUT:g})"},
    ),
    "target": (("--target",), {"default": "llvm", "help": _TARGET}),
    "targets": (("--target",), {"action": "append", "help": _TARGETS}),
    "opt_level": (
        ("-O", "--opt-level"),
        {"type": int, "default": 3, "metavar": "N", "help": "of the PassContext (default: 3)"},
    ),
    "disable": (
        ("--disable",),
        {"action": "append", "metavar": "PASS", "help": "leave a pass out; can be repeated"},
    ),
    "require": (("--require",), {"action": "append", "metavar": "PASS", "help": "run a pass at every level"}),
    "config": (
        ("--config",),
        {"action": "append", "metavar": "KEY=VALUE", "help": "PassContext config: relay.FuseOps.max_depth=4"},
    ),
}
"options that several commands have"
_IMPORT = ("inputs", "params", "trust", "timeout")
_CONTEXT = ("opt_level", "disable", "require", "config")


def _add(parser: argparse.ArgumentParser, *names: str) -> None:
    for name in names:
        flags, settings = _OPTIONS[name]
        # a list of its own for each parser
        parser.add_argument(*flags, **({"default": []} if settings.get("action") == "append" else {}), **settings)


def _command(commands: Commands, name: str, help: str, more: str = "", *options: str) -> argparse.ArgumentParser:
    """Add a subcommand with some of the shared options; its function has its name in commands.py, which is imported when it runs."""

    def run(options: argparse.Namespace) -> int:
        from workbench import commands

        return getattr(commands, name)(options)

    parser = commands.add_parser(
        name, help=help, description=f"{help}. {more}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(run=run)
    _add(parser, *options)
    return parser


def _add_trace(commands: Commands) -> None:
    more = "A line a pass: * it changed the module, ! it failed, - it was skipped or is off."
    parser = _command(
        commands, "trace", "run passes over a model and print the effect of each", more, "model", *_IMPORT
    )
    passes = parser.add_mutually_exclusive_group()
    passes.add_argument(
        "-p",
        "--passes",
        metavar="TEXT",
        help="a pipeline: names separated by commas, options in braces, a minus before a pass that is off (default: what a Workbench opens with)",
    )
    passes.add_argument("--build", metavar="TARGET", help="the compiler's own passes for a target, `llvm`")
    _add(parser, *_CONTEXT)
    parser.add_argument("--changed", action="store_true", help="leave out the passes that changed nothing")
    parser.add_argument("--check", action="store_true", help="run the module before and after each pass and compare")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE.wbtrace", help="write the trace; it needs no TVM to open"
    )


def _add_show(commands: Commands) -> None:
    more = "A model is shown before and after the passes that a Workbench opens with. The file needs no network, no TVM and no Jupyter."
    parser = _command(
        commands, "show", "turn a trace, or a model before and after its passes, into one HTML file", more
    )
    parser.add_argument("file", help=_SHOWN)
    _add(parser, "inputs")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=".html, .svg, .pdf or .png (default: FILE's name, .html)"
    )
    parser.add_argument("--step", type=int, metavar="N", help="one step of the trace, before and after")
    parser.add_argument("--graph", action="store_true", help="the model as it is imported, without passes")
    parser.add_argument("--open", action="store_true", help="open it in the browser")


def _add_kernels(commands: Commands) -> None:
    options = "model", *_IMPORT, "target", *_CONTEXT
    parser = _command(commands, "kernels", "build a model and count the kernels that it calls", "", *options)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.csv", help="write the calls as a table")


def _add_schedules(commands: Commands) -> None:
    options = "model", *_IMPORT, "target", *_CONTEXT
    parser = _command(
        commands, "schedules", "list which of TVM's rules schedules each kernel, and why others declined", "", *options
    )
    parser.add_argument(
        "--check", action="store_true", help="run each schedule on the CPU; ends with status 3 if one is wrong"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE.csv",
        help="write a row for each rule that was tried, or for each check",
    )


def _add_measure(commands: Commands) -> None:
    options = "model", *_IMPORT
    parser = _command(
        commands, "measure", "build configurations of a model and time each on this machine", "", *options
    )
    configs = "an opt level or a pipeline (default: 0 to 3)"
    parser.add_argument("-c", "--config", action="append", dest="configs", metavar="CONFIG", help=configs)
    _add(parser, "targets")
    parser.add_argument("--budget", type=float, default=1.0, metavar="SECONDS", help="of timing a row (default: 1)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.csv", help="write the rows, samples too")


def _add_remarks(commands: Commands) -> None:
    more = "Without -o it prints the missed ones. --diff ends with status 3 if AFTER lacks a fusion, a merge or a fold of BEFORE."
    parser = _command(
        commands, "remarks", "write each decision of the passes as a record, or compare two such files", more
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("model", nargs="?", help=f"{_MODEL}, or a .wbtrace")
    source.add_argument("--diff", nargs=2, type=Path, metavar=("BEFORE", "AFTER"), help="two files that -o wrote")
    _add(parser, *_IMPORT)
    parser.add_argument("-p", "--passes", metavar="TEXT", help="a pipeline (default: the compiler's own passes)")
    _add(parser, "target", *_CONTEXT)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write them, main.opt.yaml")
    parser.add_argument(
        "--format",
        choices=("yaml", "jsonl"),
        help="LLVM's optimisation remarks, or one JSON object a line (default: by the suffix)",
    )


def _add_migrate(commands: Commands) -> None:
    more = "Tables as CSV and all figures as JSON are next to it. Each compiler runs in its own environment, which is found as `doctor` finds it."
    parser = _command(commands, "migrate", "compare Relay and Relax on one model, and write an HTML file", more)
    parser.add_argument("model", help="an .onnx file, Relay or TVMScript in a .relay, .txt or .py file, or sample:NAME")
    _add(parser, "inputs", "params", "targets")
    parser.add_argument("--relay", metavar="PYTHON", help="the Python of Relay's environment (default: it is found)")
    parser.add_argument("--relax", metavar="PYTHON", help="the Python of Relax's environment (default: it is found)")
    parser.add_argument("--budget", type=float, default=4.0, metavar="SECONDS", help="of a race (default: 4)")
    _add(parser, "timeout")
    parser.add_argument("-o", "--output", metavar="FILE.html", help="where to write it (default: the model's name)")


def _add_export(commands: Commands) -> None:
    more = ".json the graph, .dot Graphviz, .py the code that makes the trace with TVM alone, .txt TVM's text, .html .svg .pdf .png."
    parser = _command(commands, "export", "write a trace or a graph in another form, by the suffix", more)
    parser.add_argument("file", help=_SHOWN)
    parser.add_argument("output", nargs="?", help="where to write it")
    parser.add_argument("-o", "--output", dest="output_too", metavar="FILE", help="the same as the second argument")
    _add(parser, "inputs")
    parser.add_argument("--step", type=int, metavar="N", help="the graph after this step (default: the last)")


def _add_setup(commands: Commands) -> None:
    """Add the commands about environments, which run before any dependency is installed."""
    install = commands.add_parser("install-relay", help="make the environment of the Relay kernel")
    install.add_argument("--prefix", type=Path, metavar="DIR", help="where to make it (default: in your data folder)")
    install.add_argument("--no-cuda", action="store_true", help="leave NVIDIA's run-time compiler out (76 MB less)")
    install.add_argument("--extras", default="", metavar="NAMES", help="extras of tvm-workbench to add: onnx,test")
    jupyter = "the environment whose JupyterLab lists the kernel (default: the one this command runs in)"
    install.add_argument("--jupyter", type=Path, default=Path(sys.prefix), metavar="DIR", help=jupyter)
    supported = "on a machine that cannot run it, print a line and exit without an error"
    install.add_argument("--if-supported", action="store_true", help=supported)
    wheels = "install from this folder of wheels, with no network"
    install.add_argument("--wheelhouse", type=Path, metavar="DIR", help=wheels)
    install.set_defaults(run=_install_relay)

    wheelhouse = commands.add_parser("wheelhouse", help="make a folder that installs workbench without a network")
    wheelhouse.add_argument("folder", type=Path, metavar="DIR", help="where to write the wheels and INSTALL.txt")
    dialect = "the dialect of its TVM (default: relay)"
    wheelhouse.add_argument("--dialect", choices=("relay", "relax"), default="relay", help=dialect)
    version = "of the Python that will install it (default: this Python's)"
    wheelhouse.add_argument("--python-version", metavar="3.N", help=version)
    wheelhouse.add_argument("--extras", default="", metavar="NAMES", help="extras of tvm-workbench to add: onnx,tune")
    small = "leave out scipy, matplotlib and the packages that only JupyterLab needs"
    wheelhouse.add_argument("--small", action="store_true", help=small)
    wheelhouse.set_defaults(run=_wheelhouse)

    doctor = commands.add_parser("doctor", help="print the TVM, the devices and the tools of this machine")
    doctor.set_defaults(run=_doctor)


def _install_relay(options: argparse.Namespace) -> int:
    from workbench.environments import Unsupported
    from workbench.environments.relay import Request, default_prefix, install_relay

    request = Request(
        options.prefix or default_prefix(),
        not options.no_cuda,
        _names(options.extras),
        options.jupyter,
        options.wheelhouse,
    )
    try:
        python = install_relay(request, lambda line: print_line(f"[relay] {line}"))
    except Unsupported as error:
        if not options.if_supported:
            raise
        print_line(f"[relay] left out: {error}")
        return 0
    print_line(f"[relay] ready: {python}")
    return 0


def _wheelhouse(options: argparse.Namespace) -> int:
    from workbench.environments.wheelhouse import Wheelhouse, make_wheelhouse

    python = options.python_version or ".".join(map(str, sys.version_info[:2]))
    request = Wheelhouse(options.folder, options.dialect, python, _names(options.extras), options.small)
    archive = make_wheelhouse(request, lambda line: print_line(f"[wheelhouse] {line}"))
    size = archive.stat().st_size / 1e6
    print_line(f"[wheelhouse] ready: {archive} ({size:.1f} MB); {options.folder / 'INSTALL.txt'} has the commands")
    return 0


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _doctor(options: argparse.Namespace) -> int:  # noqa: ARG001 - every subcommand is called the same way
    from workbench.environments.doctor import report

    for line in report():
        print_line(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
