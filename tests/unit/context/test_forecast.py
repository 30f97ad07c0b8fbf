"""What would be cut at the next turn, said beforehand."""

from __future__ import annotations

from agentflow.context.forecast import Compaction, Forecast, forecast
from agentflow.context.strategies import Context, Strategy
from agentflow.context.tokens import Report
from agentflow.message import Message

OFF = Compaction(0, 0, 30)
PATH = [
    Message(f"m{number}", "assistant" if number % 2 else "user", f"message {number} " + "x" * 90) for number in range(6)
]
CHARS = sum(len(str(message.content)) for message in PATH)


def of(context: Context, settings: Compaction = OFF, report: Report | None = None) -> list[Forecast]:
    return forecast(context, settings, report, PATH, CHARS + 40, CHARS, lean=True)


def test_without_anything_configured_there_is_nothing_to_foresee() -> None:
    assert of(Context()) == []


def test_a_strategy_says_what_it_compares_and_what_would_go() -> None:
    """X11, X13: everything before the new message."""
    (found,) = of(Context(None, (Strategy("summarize", over_tokens=100),)))
    assert (found.by, found.use, found.threshold, found.due) == ("strategy[0]", "summarize", 100, True)
    assert found.tokens == -(-(CHARS + 40) // 4)
    assert (found.summarized, found.kept, found.tokens_after) == (6, 0, 10)


def test_an_idle_reset_has_no_threshold_and_is_never_due_by_size() -> None:
    (found,) = of(Context(200_000, (Strategy("reset", idle_secs=3600),)))
    assert (found.threshold, found.idle_secs, found.due, found.summarized) == (None, 3600, False, 6)


def test_settings_come_first_and_go_by_the_report() -> None:
    """X7, X8."""
    found = of(Context(None, (Strategy("summarize", over_tokens=9999),)), Compaction(0.8, 1000, 2), Report(800, 10))
    assert [each.by for each in found] == ["settings", "strategy[0]"]
    assert (found[0].tokens, found[0].threshold, found[0].due) == (800, 799, True)
    assert (found[0].summarized, found[0].kept) == (4, 2)
    assert found[1].due is False
    assert found[0].as_dict()["by"] == "settings"


def test_nothing_to_make_room_with_is_said_by_zeros() -> None:
    (found,) = forecast(Context(None, (Strategy("summarize", over_tokens=1),)), OFF, None, [], 40, 0, lean=True)
    assert (found.due, found.summarized, found.kept, found.tokens_after) == (True, 0, 0, 0)
