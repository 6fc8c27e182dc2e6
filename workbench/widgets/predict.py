"""A question to answer before the answer is shown: what one has predicted is remembered better than what one was told.

The answer comes from a function, which is called once and only when somebody asks: the reader, by typing a guess or asking to
be shown, or a later cell, by reading `answer`. So a notebook that is run from top to bottom never waits for a reader.
"""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import traitlets

from workbench.errors import WorkbenchError
from workbench.widgets.background import Background
from workbench.widgets.base import Shown, View, json_trait
from workbench.widgets.messages import Handlers, Reveal
from workbench.widgets.page_types import Answer


class Predict(View):
    """Ask for a prediction, then show what is so.

    Parameters
    ----------
    question
        What is asked, as text.
    answer
        A function that finds the answer, or the answer. A guess of a number is right if it is equal to it.
    unit
        What a number counts, in the plural: "kernels".
    because
        A sentence that is shown with the answer.
    choices
        Answers to choose from, in the place of a field to type into.

    Attributes
    ----------
    guess
        What the reader said; empty before that, and when only the answer was asked for.

    Examples
    --------
    >>> six = Predict("How many operators?", lambda: 2 * 3, unit="operators")
    >>> six.answer
    6
    >>> six.reveal("5")
    >>> six.said
    'You said 5. The answer: 6 operators.'
    """

    _view = traitlets.Unicode("predict").tag(sync=True)
    question = traitlets.Unicode().tag(sync=True)
    unit = traitlets.Unicode().tag(sync=True)
    choices = traitlets.List(traitlets.Unicode()).tag(sync=True)
    guess = traitlets.Unicode().tag(sync=True)
    shown = json_trait(Answer, "stage: asked, busy, shown, failed; then what is said of the answer")

    def __init__(
        self,
        question: str,
        answer: Callable[[], Any] | object,
        *,
        unit: str = "",
        because: str = "",
        choices: Sequence[str] = (),
    ) -> None:
        self._find = answer if callable(answer) else lambda: answer
        self._because = because
        self._found: list[Any] = []
        self._finding = threading.RLock()
        self._asking = Background("workbench-predict", self._failed)
        super().__init__(question=question, unit=unit, choices=list(choices), shown={"stage": "asked"})
        self._handlers = Handlers().on(Reveal, self._reveal)
        self.on_msg(self._receive)

    @property
    def answer(self) -> Any:
        """The answer, found when it is first asked for; raises what the function raises. The page goes on asking."""
        with self._finding:
            if not self._found:
                self._found.append(self._find())
            return self._found[0]

    @property
    def said(self) -> str:
        """What the page says of the answer; empty before it is shown."""
        return str(self.shown.get("said", ""))

    def reveal(self, guess: str = "") -> None:
        """Show the answer, and whether the guess was right."""
        self.guess = guess.strip()
        words = worded(self.answer, self.unit)
        right = agrees(self.guess, self.answer)
        if not self.guess:
            said = f"The answer: {words}."
        elif right:
            said = f"Right: {words}."
        else:
            said = f"You said {self.guess}. The answer: {words}."
        self.shown = {"stage": "shown", "said": said, "right": right, "because": self._because}

    def wait(self, timeout: float = 120) -> bool:
        """Wait until what the page asked for is shown; whether that was in time."""
        return self._asking.wait(timeout)

    def save(self, path: str | Path) -> Path:
        """Refuse: there is no picture of a question.

        Raises
        ------
        WorkbenchError
            Always.
        """
        raise WorkbenchError(
            f"{Path(path).name!r} was not written: a question has no picture; a saved notebook keeps it"
        )

    def _receive(self, _: Any, content: object, __: Any) -> None:
        self._handlers.run(self._handlers.read(content))

    def _reveal(self, message: Reveal) -> None:
        self.shown = {"stage": "busy"}
        self._asking.submit(lambda _: self.reveal(message.guess))

    def _failed(self, error: Exception) -> None:
        said = str(error) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
        self.shown = {"stage": "failed", "said": f"The answer was not found. {said}"}

    def _shown_graphs(self) -> Shown | None:
        return None

    def _still_words(self, *, drawn: bool) -> str:  # noqa: ARG002  it has no picture
        """The question; the answer behind a click that needs no script, if it is known by now."""
        asked = f"<b>{html.escape(self.question)}</b>"
        if not self._found:
            return f"<p>{asked} Run the cell to answer.</p>"
        words = " ".join(filter(None, (f"{worded(self.answer, self.unit)}.", self._because)))
        return f"<details><summary>{asked} Predict, then open.</summary><p>{html.escape(words)}</p></details>"


def worded(answer: object, unit: str) -> str:
    """An answer with its unit.

    >>> worded(1200, "kernels"), worded(1, "kernels"), worded(True, "")
    ('1,200 kernels', '1 kernel', 'yes')
    """
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    number = isinstance(answer, (int, float))
    counted = unit.removesuffix("s") if number and answer == 1 else unit
    return f"{answer:,} {counted}".rstrip() if number else f"{answer} {unit}".rstrip()


def agrees(guess: str, answer: object) -> bool:
    """Whether a guess is the answer: as a number where that is one, else as text.

    >>> agrees("1,200 kernels", 1200), agrees("Yes", True), agrees("two", 2)
    (True, True, False)
    """
    if isinstance(answer, (int, float)) and not isinstance(answer, bool):
        number = re.match(r"-?\d[\d,]*(\.\d+)?", guess)
        return number is not None and float(number[0].replace(",", "")) == answer
    return guess.casefold() == worded(answer, "").casefold()
