"""What a case answers for, and what may be said of an attempt (R9)."""

from __future__ import annotations

from tests.breaks.entry import Break

_SCENARIOS = "scenarios/records/test_evaluation.py"
_VERDICTS = f"{_SCENARIOS}::test_whatever_is_no_verdict_is_an_error_of_the_judge"

BREAKS = (
    Break(
        "case-tool", "evaluation/stand_in.py",
        "return None if tool in self._live else self.given(tool, arguments)",
        "return None",
        (f"{_SCENARIOS}::test_a_tool_acts_only_where_it_is_live",),
        "Tools act in an evaluation.",
    ),
    Break(
        "case-worker", "turn/worker/asking.py",
        "if stand_in is not None and not stand_in.asks_worker(agent):",
        "if stand_in is not None and not stand_in.asks_worker(agent) and not agent:",
        (f"{_SCENARIOS}::test_a_worker_is_asked_only_where_it_is_live_and_knows_the_state",),
        "Workers are asked in an evaluation.",
    ),
    Break(
        "case-data-missing", "evaluation/stand_in.py",
        "if not held and isinstance(of, tuple):",
        "if held and isinstance(of, tuple):",
        (f"{_SCENARIOS}::test_data_that_is_missing_is_an_error_that_names_it",),
        "Data that a case lacks is passed over where a flow swallows it.",
    ),
    Break(
        "case-data-step", "evaluation/stand_in.py",
        "if each.step <= self._stand_in.step",
        "if each.step",
        (f"{_SCENARIOS}::test_data_that_changed_within_a_turn_is_given_as_it_was",),
        "A turn begins with the data of its last step.",
    ),
    Break(
        "case-branch", "evaluation/exported.py",
        'own[-1]["id"] in on_path',
        'own[0]["id"] in on_path',
        (f"{_SCENARIOS}::test_an_answer_that_was_given_anew_has_the_message_it_answers",),
        "A case has answers of other branches.",
    ),
    Break(
        "case-secret", "evaluation/capture.py",
        "Captured(redact_json(_said(case)), lacks)",
        "Captured(_said(case), lacks)",
        (f"{_SCENARIOS}::test_secrets_are_not_in_a_case",),
        "A case tells secrets.",
    ),
    Break(
        "attempt-error", "evaluation/attempt.py",
        'self.outcome = "error" if "error" in (self.outcome, outcome) else outcome',
        "self.outcome = outcome",
        ("unit/evaluation/test_report.py",),
        "An attempt that could not be judged counts as a failure.",
    ),
    Break(
        "attempt-rate", "evaluation/report.py",
        'judged = counted["pass"] + counted["fail"]',
        "judged = len(attempts)",
        ("unit/evaluation/test_report.py",),
        "Errors are in the pass rate.",
    ),
    Break(
        "judge-cut", "evaluation/judge.py",
        'if reply.finish_reason not in ("stop", "tool_calls"):',
        'if reply.finish_reason == "stop and more":',
        (_VERDICTS,),
        "A reply that was cut is a verdict.",
    ),
    Break(
        "judge-word", "evaluation/judge.py",
        'if given["verdict"] not in ("pass", "fail"):',
        'if given["verdict"] is None:',
        (_VERDICTS,),
        "Any word is a verdict.",
    ),
    Break(
        "replay-today", "models/recording/request.py",
        'return value.replace(today, "<today>")',
        "return value",
        (f"{_SCENARIOS}::test_a_recording_is_replayed_on_another_day",),
        "A recording is good for one day.",
    ),
)  # fmt: skip
