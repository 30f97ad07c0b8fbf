"""What came of tests, as a person and as a program reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentflow.testing import Crashed


@dataclass(frozen=True, slots=True)
class Tested:
    """One file: `state` is passed, failed or invalid; `crashes` are null where none were asked for."""

    path: str
    description: str = ""
    state: str = "passed"
    failures: Sequence[str] = ()
    trace: str = ""
    crashes: Sequence[Crashed] | None = None

    @property
    def otherwise(self) -> list[Crashed]:
        """The runs with a crash that ended otherwise."""
        return [each for each in self.crashes or () if each.otherwise is not None]

    @property
    def is_good(self) -> bool:
        return self.state == "passed" and not self.otherwise

    def as_dict(self) -> dict[str, Any]:
        """The JSON of `agentflow test --json`."""
        crashes = None if self.crashes is None else [asdict(each) for each in self.crashes]
        return {
            "path": self.path, "description": self.description, "state": self.state,
            "failures": list(self.failures), "trace": self.trace, "crashes": crashes,
        }  # fmt: skip

    def lines(self) -> Iterator[str]:
        """How it is printed."""
        yield f"{self.state:<8} {self.path}" + (f"  {self.description}" if self.description else "")
        for text in (*self.failures, self.trace):
            yield from (f"    {line}" for line in text.splitlines())
        if self.crashes is not None:
            yield from self._table(self.crashes)

    def _table(self, crashes: Sequence[Crashed]) -> Iterator[str]:
        again = sum(bool(each.again) for each in crashes)
        counted = f"{len(self.otherwise)} ended otherwise" + (f", {again} called tools again" if again else "")
        yield f"    died after each of {len(crashes)} commits: {counted}"
        for each in crashes:
            said = [each.otherwise] if each.otherwise else []
            said += [f"again: {', '.join(each.again)}"] if each.again else []
            if said:
                yield f"    step {each.step}, commit {each.commit} of {each.of}: {'; '.join(said)}"
