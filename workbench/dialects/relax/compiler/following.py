"""The calls of one run of Relax's virtual machine, one by one: its instrument is called back, and callers want an iterator."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.compiler.run_calls import Made, RanCall
from workbench.dialects.relax.compat import address_of

_MACHINE = "vm.builtin."
_ALLOCATES = f"{_MACHINE}alloc_tensor"
Seen = Callable[[RanCall], None]


class Following:
    """An instrument that recognises tensors by their memory: which call wrote each, and which are not yet written.

    Parameters
    ----------
    home
        Returns the module with the compiled function of a name; None for the machine's own functions.
    seen
        Called with each call after it ran.
    """

    def __init__(self, home: Callable[[str], Any | None], seen: Seen) -> None:
        self.home = home
        self.seen = seen
        self.number = 0
        self.made: dict[int, Made] = {}
        "by address"
        self.fresh: set[int] = set()
        "addresses of allocated tensors that no call has written"

    def __call__(self, _function: Any, name: str, before: bool, result: Any, *arguments: Any) -> int:
        if not before and name == _ALLOCATES:
            self.fresh.add(address_of(result))
            self.made.pop(address_of(result), None)
        elif not before and not name.startswith(_MACHINE):
            self._ran(name, arguments)
        return relax.VMInstrumentReturnKind.NO_OP

    def _ran(self, name: str, arguments: tuple[Any, ...]) -> None:
        tensors = {place: each for place, each in enumerate(arguments) if isinstance(each, tvm.runtime.Tensor)}
        addresses = {place: address_of(each) for place, each in tensors.items()}
        written = tuple(place for place, address in addresses.items() if address in self.fresh)
        self.fresh.difference_update(addresses.values())
        home = self.home(name)
        if home is None:
            # a library's function: its values are not of a kernel of the build
            return
        sources = {place: self.made.get(at) for place, at in addresses.items() if place not in written}
        self.seen(RanCall(name, home.get_function(name), arguments, sources, written, tvm.runtime.empty))
        self.made.update({addresses[place]: (self.number, output) for output, place in enumerate(written)})
        self.number += 1


def handed_over(run: Callable[[Seen], None]) -> Iterator[RanCall]:
    """Yield the calls that `run` reports. It runs in a thread, which waits after each call until the next one is taken."""
    reported: queue.SimpleQueue[RanCall | BaseException | None] = queue.SimpleQueue()
    turn = threading.Semaphore(0)
    ended = threading.Event()

    def report(call: RanCall) -> None:
        if not ended.is_set():
            reported.put(call)
            turn.acquire()

    def work() -> None:
        turn.acquire()
        try:
            if not ended.is_set():
                run(report)
            reported.put(None)
        except BaseException as error:  # noqa: BLE001  it is raised in the thread that takes the calls
            reported.put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            turn.release()
            found = reported.get()
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            yield found
    finally:
        ended.set()
        turn.release()
        thread.join()
