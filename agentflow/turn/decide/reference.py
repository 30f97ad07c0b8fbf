"""The tables of docs/worker-protocol.md, made from the forms that answers are read by and the table they are judged by.

`python -m agentflow.turn.decide.reference FILE` writes them between their marks in the page; a test compares it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from agentflow.agents.worker import ATTEMPT_SECS, ATTEMPTS, DECISION_SECS, MAX_PAUSE_SECS
from agentflow.turn.decide.protocol import AGENT, ANSWER, FORMS, Field
from agentflow.turn.decide.table import CONDITIONS, TABLE, May
from agentflow.worker import SIGNATURE, TIMESTAMP, WINDOW_SECS

_SHORT = {May.YES: "yes", May.NO: "", May.NONE_OPEN: "(1)", May.HELD: "(2)", May.OF_REPLY: "(3)", May.LEFT_OPEN: "(4)"}
_MARKED = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def page(text: str) -> str:
    """The page with its tables as the code has them now."""
    return _MARKED.sub(lambda found: f"{found[1]}{MADE[found[2]]()}\n{found[3]}", text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _fields(fields: Sequence[Field]) -> Iterable[Sequence[str]]:
    return [[f"`{each.name}`{' (required)' if each.required else ''}", each.kind, each.about] for each in fields]


def _actions() -> str:
    parts = []
    for form in FORMS.values():
        table = _table(("field", "type", "meaning"), _fields(form.fields))
        parts.append(f"**`{form.type}`**: {form.about}\n\n{table}")
    return "\n\n".join(parts)


def _where() -> str:
    rows = [[f"`{point}`", *(_SHORT[TABLE[point][kind]] for kind in FORMS)] for point in TABLE]
    notes = [f"{_SHORT[may]} {text}" for may, text in CONDITIONS.items()]
    return "\n\n".join([_table(("at", *(f"`{kind}`" for kind in FORMS)), rows), *notes])


def _waiting() -> str:
    rows = (
        ("an attempt may take", f"{ATTEMPT_SECS:g} s"),
        ("attempts", str(ATTEMPTS)),
        ("a decision may take, attempts and pauses together", f"{DECISION_SECS:g} s"),
        ("pause after the n-th failed attempt", f"min(2^n, {MAX_PAUSE_SECS:g}) s"),
        ("header with the time, in seconds since 1970", f"`{TIMESTAMP}`"),
        ("header with the signature", f"`{SIGNATURE}`"),
        ("how old a request may be", f"{WINDOW_SECS} s"),
    )
    return _table(("what", "value"), rows)


MADE: Mapping[str, Callable[[], str]] = {
    "answer": lambda: _table(("field", "type", "meaning"), _fields(ANSWER)),
    "agent": lambda: _table(("field", "type", "meaning"), _fields(AGENT)),
    "actions": _actions,
    "where": _where,
    "waiting": _waiting,
}


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(page(path.read_text("utf-8")), "utf-8")
