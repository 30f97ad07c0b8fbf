"""What a deliberate break is: another text in one place of the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Break:
    """In `file` (of the package) `new` stands in the place of `old`, which is there once.

    `tests` are those that should notice it, under `tests/`: files or node ids. `means` says what would be wrong then;
    `unnoticed` why no test can tell, for a break that changes nothing one could see.
    """

    name: str
    file: str
    old: str
    new: str
    tests: Sequence[str]
    means: str
    unnoticed: str = ""

    @property
    def path(self) -> str:
        return f"agentflow/{self.file}"

    def problem(self, root: Path = ROOT) -> str | None:
        """Why it cannot be applied to a tree, null when it can."""
        path = root / self.path
        if not path.is_file():
            return f"there is no {self.path}"
        count = path.read_text("utf-8").count(self.old)
        if self.old == self.new or count != 1:
            return f"the old text is {count} times in {self.path}"
        missing = [test for test in self.tests if not _is_there(root / "tests", test)]
        if missing or not self.tests:
            return f"no such tests: {', '.join(missing) or 'none named'}"
        return None


def _is_there(tests: Path, named: str) -> bool:
    file, _, function = named.partition("::")
    path = tests / file
    return path.is_file() and (not function or f"def {function}(" in path.read_text("utf-8"))
