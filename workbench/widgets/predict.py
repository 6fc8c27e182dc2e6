"""A question to answer before the answer is shown: a prediction makes the answer easier to remember.

The answer comes from a function, which is called once and on demand: when the reader types a guess or asks for the answer, or
when a later cell reads `answer`. A notebook that is run from top to bottom never waits for a reader.
"""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import traitlets

from workbench.errors import WorkbenchError
from workbench.widgets.background import Background, sentence
from workbench.widgets.base import SAVED, TextView, json_trait
from workbench.widgets.messages import Verbs, verb
from workbench.widgets.page_types import Answer

EXAMPLE = "wb.Predict('Which pass merges them?', 'FuseOps', choices=['FuseOps', 'FoldConstant'])"


class Predict(TextView):
    """A question that asks for a prediction, then shows the answer.

    Parameters
    ----------
    question
        The question, as text.
    answer
        A function that returns the answer, or the answer. A guess of a number is right if it is equal.
    unit
        The unit of a number, in the plural: "kernels".
    because
        A sentence to show with the answer.
    choices
        Answers to choose from, instead of a text field.

    Attributes
    ----------
    guess
        The reader's guess; empty before it, and if only the answer was requested.

    Examples
    --------
    >>> six = Predict("How many operators?", lambda: 2 * 3, unit="operators")
    >>> six.answer
    6
    >>> six.reveal("5")
    >>> six.said
    'You said 5. The answer: 6 operators.'
    """

    _view = traitlets.Unicode("predict").tag(**SAVED)
    question = traitlets.Unicode().tag(sync=True)
    unit = traitlets.Unicode().tag(sync=True)
    choices = traitlets.List(traitlets.Unicode()).tag(sync=True)
    guess = traitlets.Unicode().tag(sync=True)
    shown = json_trait(Answer, "stage: asked, busy, shown, failed; then what is said of the answer")

    def __init__(
        self,
        question: str,
        answer: Callable[[], object] | object,
        *,
        unit: str = "",
        because: str = "",
        choices: Sequence[str] = (),
    ) -> None:
        self._find = answer if callable(answer) else lambda: answer
        self._because = _text("because", because)
        self._found: list[object] = []
        self._finding = threading.RLock()
        self._asking = Background("workbench-predict", self._failed)
        super().__init__(
            question=_text("question", question),
            unit=_text("unit", unit),
            choices=_texts("choices", choices),
            shown={"stage": "asked"},
        )
        self.on_msg(Verbs(self).run)

    @property
    def answer(self) -> object:
        """The answer, computed on first use; raises the function's errors. The page still shows the question."""
        with self._finding:
            if not self._found:
                self._found.append(self._find())
            return self._found[0]

    @property
    def said(self) -> str:
        """The page's sentence about the answer; empty before it is shown."""
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
        """Wait until the page's request is done; return whether that happened in time."""
        return self._asking.wait(timeout)

    def save(self, path: str | Path) -> Path:
        """Raise an error: a question has no picture.

        Raises
        ------
        WorkbenchError
            Always.
        """
        raise WorkbenchError(
            f"{Path(path).name!r} was not written: a question has no picture; a saved notebook keeps it"
        )

    @verb("reveal")
    def _guessed(self, guess: str) -> None:
        self.shown = {"stage": "busy"}
        self._asking.submit(lambda _: self.reveal(guess))

    def _failed(self, error: Exception) -> None:
        self.shown = {"stage": "failed", "said": f"The answer was not found. {sentence(error)}"}

    def _still_words(self, *, drawn: bool) -> str:  # noqa: ARG002  it has no picture
        """Return the question, and the answer, if it is known by now, behind a click that needs no script."""
        asked = f"<b>{html.escape(self.question)}</b>"
        if not self._found:
            return f"<p>{asked} Run the cell to answer.</p>"
        words = " ".join(filter(None, (f"{worded(self.answer, self.unit)}.", self._because)))
        return f"<details><summary>{asked} Predict, then open.</summary><p>{html.escape(words)}</p></details>"


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise WorkbenchError(f"{name} is text, not {type(value).__name__}: {EXAMPLE}")
    return value


def _texts(name: str, values: object) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Sequence) or not all(isinstance(each, str) for each in values):
        raise WorkbenchError(f"{name} is a list of texts, not {values!r:.80}: {EXAMPLE}")
    return list(values)


def worded(answer: object, unit: str) -> str:
    """Return an answer with its unit.

    >>> worded(1200, "kernels"), worded(1, "kernels"), worded(True, "")
    ('1,200 kernels', '1 kernel', 'yes')
    """
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    number = isinstance(answer, (int, float))
    counted = unit.removesuffix("s") if number and answer == 1 else unit
    return f"{answer:,} {counted}".rstrip() if number else f"{answer} {unit}".rstrip()


def agrees(guess: str, answer: object) -> bool:
    """Return whether a guess is the answer, compared as a number if that is one, else as text.

    >>> agrees("1,200 kernels", 1200), agrees("Yes", True), agrees("two", 2)
    (True, True, False)
    """
    if isinstance(answer, (int, float)) and not isinstance(answer, bool):
        number = re.match(r"-?\d[\d,]*(\.\d+)?", guess)
        return number is not None and float(number[0].replace(",", "")) == answer
    return guess.casefold() == worded(answer, "").casefold()
