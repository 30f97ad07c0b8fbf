"""A6: what a flow is handed."""

import pytest

from agentflow.tools.flows.context import CallCancelled, FlowContext


def test_a_context_for_a_test_needs_only_what_the_test_is_about() -> None:
    context = FlowContext(inputs={"customer": "c-1"})
    context.emit("progress", {"done": 1})
    context.check_cancelled()
    assert context.inputs["customer"] == "c-1"
    assert (context.vars, context.client, context.cancelled()) == ({}, {}, False)


def test_the_idempotency_key_names_this_very_call() -> None:
    context = FlowContext(session_id="s", turn_id="t", call_id="c")
    assert context.idempotency_key == "s/t/c"


def test_a_cancelled_call_unwinds_past_handlers_of_ordinary_errors() -> None:
    def tidy_flow(context: FlowContext) -> str:
        try:
            context.check_cancelled()
        except Exception:
            return "eaten"
        return "went on"

    with pytest.raises(CallCancelled, match="call c was stopped"):
        tidy_flow(FlowContext(call_id="c", cancelled=lambda: True))
