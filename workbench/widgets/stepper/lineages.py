"""The distinct lineages of all nodes of a trace, numbered."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.pipeline.lineage import Transition
from workbench.widgets.stepper.trace_states import States


class Lineages:
    """The number of the lineage of every node of every state.

    Two nodes of neighbouring states have one lineage if each is the only image of the other, with the same certainty: the walk
    from either passes through the other. Most nodes of a trace do, so that there are about as many lineages as nodes of one state.
    """

    def __init__(self, states: States) -> None:
        self.of_state: dict[int, Sequence[int]] = {}
        "state -> the number of each node's lineage"
        self.firsts: list[tuple[int, int]] = []
        "lineage -> the first state and node that have it"
        steps = states.trace.transitions
        carried: dict[int, int] = {}
        for place, state in enumerate(states.visited):
            numbers = self._numbered(state, len(states.graph(state).nodes), carried)
            # a state that comes again is followed from its first place
            self.of_state.setdefault(state, numbers)
            carried = _carried(steps[place], numbers) if place < len(steps) else {}
        self.places = len(self.firsts) * len(states.visited)
        "the places of all lineages"

    def _numbered(self, state: int, nodes: int, carried: dict[int, int]) -> list[int]:
        """Return the number of each node's lineage; -1 for one that begins where the state comes again."""
        numbers: list[int] = []
        for node in range(nodes):
            number = carried.get(node, -1)
            if number < 0 and state not in self.of_state:
                number = len(self.firsts)
                self.firsts.append((state, node))
            numbers.append(number)
        return numbers


def _carried(step: Transition, numbers: Sequence[int]) -> dict[int, int]:
    """Return the lineages that go on to the next state, by node there."""
    found: dict[int, int] = {}
    for node, number in enumerate(numbers):
        images = step.forward.of(node)
        if len(images) != 1 or number < 0:
            continue
        ((image, sure),) = images
        if step.backward.of(image) == ((node, sure),):
            found[image] = number
    return found
