"""Every complaint has a code, and the page of all of them is what the program says (A2)."""

from __future__ import annotations

import pytest

from agentflow.agents.complaints.page import COMPLAINTS, complaints, found_in, page_text
from agentflow.config.document.codes import Code
from tests.guards.source import ROOT

NOT_BY_A_FILE = {Code.UNREADABLE_FILE}


def test_every_code_is_told() -> None:
    assert set(COMPLAINTS) == set(Code)
    assert list(complaints()) == [code.value for code in COMPLAINTS]
    assert {code for code, about in COMPLAINTS.items() if not about.shown} == NOT_BY_A_FILE


@pytest.mark.parametrize("code", [code for code in COMPLAINTS if code not in NOT_BY_A_FILE])
def test_every_example_gives_its_complaint_and_no_other(code: Code) -> None:
    told, codes = found_in(COMPLAINTS[code])
    assert (len(told), codes) == (1, {code})


def test_the_page_is_the_table_s() -> None:
    """And the same wherever it is made."""
    assert str(ROOT) not in page_text()
    assert (ROOT / "docs" / "complaints.md").read_text("utf-8") == page_text()
