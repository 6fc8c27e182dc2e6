"""The tvm-workbench command. Each subcommand is one function; what it needs is imported inside it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from workbench.errors import WorkbenchError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0 done, 1 an error with its sentence on stderr, 2 bad usage."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except WorkbenchError as error:
        print(f"tvm-workbench: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("tvm-workbench: interrupted; run it again and it starts over cleanly.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tvm-workbench", description="A Jupyter workbench for Apache TVM.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    install = commands.add_parser("install-relay", help="make the environment of the Relay kernel")
    install.add_argument("--prefix", type=Path, metavar="DIR", help="where to make it (default: in your data folder)")
    install.add_argument("--no-cuda", action="store_true", help="leave NVIDIA's run-time compiler out (76 MB less)")
    install.add_argument("--extras", default="", metavar="NAMES", help="extras of tvm-workbench to add: onnx,test")
    install.add_argument(
        "--jupyter",
        type=Path,
        default=Path(sys.prefix),
        metavar="DIR",
        help="the environment whose JupyterLab lists the kernel (default: the one this command runs in)",
    )
    install.add_argument(
        "--if-supported",
        action="store_true",
        help="where the machine can not run it, say so and leave it at that, instead of failing",
    )
    install.set_defaults(run=_install_relay)

    doctor = commands.add_parser("doctor", help="print what was found on this machine")
    doctor.set_defaults(run=_doctor)
    return parser


def _install_relay(options: argparse.Namespace) -> int:
    from workbench.environments import Unsupported
    from workbench.environments.relay import Request, default_prefix, install_relay

    extras = tuple(name for name in options.extras.split(",") if name)
    request = Request(options.prefix or default_prefix(), not options.no_cuda, extras, options.jupyter)
    try:
        python = install_relay(request, lambda line: print(f"[relay] {line}", flush=True))
    except Unsupported as error:
        if not options.if_supported:
            raise
        print(f"[relay] left out: {error}")
        return 0
    print(f"[relay] ready: {python}")
    return 0


def _doctor(options: argparse.Namespace) -> int:  # noqa: ARG001 - every subcommand is called the same way
    from workbench.environments.doctor import report

    for line in report():
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
