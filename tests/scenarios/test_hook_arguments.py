"""R8: `with:` gives any hook's flow arguments, which are templates over inputs, variables and the session."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from agentflow import FlowContext, FlowName, InvalidConfig, ModelRequest
from agentflow.testing import Kit
from tests.scenarios.support import call

INPUTS = {"customer_id": {"type": "integer"}, "city": {"type": "string"}}

seen: list[Any] = []


@pytest.fixture(autouse=True)
def forget() -> None:
    seen.clear()


def note(
    text: str, ctx: FlowContext, count: int = 0, on: date | None = None, also: dict[str, list[str]] | None = None
) -> None:
    seen.append((text, count, on, also, ctx.session_id))


async def note_later(text: str, count: int) -> None:
    seen.append((text, count))


def load_customer(key: str) -> dict[str, str]:
    """Load a customer."""
    return {"name": key}


def load(loader: FlowName) -> None:
    seen.append(loader)


def ask(kit: Kit, given: dict[str, Any], flow: Any = note, point: str = "step_start", **keys: Any) -> Any:
    hooks = {point: [{"flow": flow, "with": given}]}
    kit.agent(hooks=hooks, replies=lambda request: {"text": "ok"}, inputs=INPUTS, **keys)
    return kit.send("hi", inputs={"customer_id": 42})


def test_texts_are_templates_at_any_depth_and_become_the_parameters_types(agentflow: Kit) -> None:
    ask(
        agentflow,
        {
            "text": "{{ session.id }} in {{ inputs.city }}.",
            "count": "{{ inputs.customer_id }}",
            "on": "{{ today }}",
            "also": {"all": ["plain", "{{ inputs.customer_id + 1 }}"]},
        },
    )
    assert seen == [("s-1 in .", 42, date(2030, 1, 1), {"all": ["plain", "43"]}, "s-1")]


def test_an_async_flow_is_given_them_too(agentflow: Kit) -> None:
    ask(agentflow, {"text": "now", "count": "{{ 6 * 7 }}"}, note_later)
    assert seen == [("now", 42)]


def test_a_hook_sees_the_variables_of_the_one_before_it(agentflow: Kit) -> None:
    def name() -> dict[str, Any]:
        return {"vars": {"name": "Ada"}}

    hooks = {"step_start": [name, {"flow": note, "with": {"text": "{{ vars.name }}"}}]}
    agentflow.agent(hooks=hooks, replies=[{"text": "ok"}])
    agentflow.send("hi")
    assert seen[0][0] == "Ada"


@pytest.mark.parametrize("point", ["step_end", "pre_model", "post_model", "pre_tool", "post_tool"])
def test_every_point_takes_them(agentflow: Kit, point: str) -> None:
    def look(place: str) -> str:
        """Look."""
        return place

    def replies(request: ModelRequest) -> dict[str, Any]:
        looked = request.messages[-1]["role"] == "tool"
        return {"text": "ok"} if looked else {"tool_calls": [call("look", place="a")]}

    agentflow.agent(hooks={point: [{"flow": note, "with": {"text": point}}]}, tools=[look], replies=replies)
    assert agentflow.send("hi").state == "done"
    assert {text for text, *_ in seen} == {point}


def test_what_the_file_gives_goes_before_what_the_point_tells(agentflow: Kit) -> None:
    def told(message: str, resumed: bool) -> None:
        seen.append((message, resumed))

    ask(agentflow, {"message": "of the file"}, told)
    assert seen == [("of the file", False)]


def test_a_word_of_python_is_given_to_the_parameter_with_an_underscore(agentflow: Kit) -> None:
    def named(as_: str) -> None:
        seen.append(as_)

    ask(agentflow, {"as": "customer"}, named)
    assert seen == ["customer"]


def test_a_template_that_fails_fails_the_hook_and_says_why(agentflow: Kit) -> None:
    failed = ask(agentflow, {"text": "{{ vars.nobody.name }}"})
    assert failed.error is not None
    assert failed.error["code"] == "hook_failed"
    assert "a template in its `with` cannot be rendered" in failed.error["message"]
    assert seen == []


def test_a_text_that_does_not_become_the_parameters_type_fails_the_hook(agentflow: Kit) -> None:
    failed = ask(agentflow, {"text": "x", "count": "{{ session.id }}"})
    assert "what `with` gives does not fit: count" in failed.error["message"]
    assert seen == []


def test_a_failure_in_them_is_passed_over_where_the_entry_says_so(agentflow: Kit) -> None:
    """T37"""
    entry = {"flow": note, "on_error": "ignore", "with": {"text": "{{ vars.nobody.name }}"}}
    agentflow.agent(hooks={"step_start": [entry]}, replies=[{"text": "ok"}])
    assert agentflow.send("hi").state == "done"


def test_a_sub_agents_templates_know_the_inputs_it_declares(agentflow: Kit) -> None:
    agentflow.agent(
        "helper",
        inputs={"customer_id": INPUTS["customer_id"], "tier": {"type": "string", "default": "basic"}},
        hooks={"step_start": [{"flow": note, "with": {"text": "{{ inputs.customer_id }} {{ inputs.tier }}"}}]},
        replies=[{"text": "done"}],
    )
    agentflow.agent(
        inputs=INPUTS,
        sub_agents=["helper"],
        replies=[{"tool_calls": [call("task", agent="helper", prompt="go")]}, {"text": "ok"}],
    )
    agentflow.send("hi", inputs={"customer_id": 42})
    assert seen[0][0] == "42 basic"


@pytest.mark.parametrize(
    ("flow", "given", "said"),
    [
        (note, {"text": "x", "cuont": 1}, r"hooks\.step_start\[0\]\.with\.cuont: .* did you mean 'count'\?"),
        (note, {"text": "x", "ctx": 1}, r"with\.ctx: .* has no parameter 'ctx'; it has text, count, on, also"),
        (note, {"count": 1}, "nothing is given for its parameter 'text'"),
        (note, {"text": "x", "count": "many"}, r"with: does not fit flow 'note' .*: count: "),
        (note, {"text": 7}, r"with: does not fit flow 'note' .*: text: "),
        (note, {"text": "{{ inputs.custmer_id }}"}, r"with\.text: inputs\.custmer_id is not declared"),
        (note, {"text": "x", "also": {"a": ["{{ nothing }}"]}}, r"with\.also\.a\[0\]: template variable 'nothing'"),
        (note, {"text": "{% if %}"}, r"with\.text: template error"),
        (load, {"loader": "load_custmer"}, r"with\.loader: There is no flow 'load_custmer'"),
    ],
)
def test_what_is_wrong_with_them_is_told_before_anything_runs(
    agentflow: Kit, flow: Any, given: dict[str, Any], said: str
) -> None:
    """A4: with the key it is about."""
    with pytest.raises(InvalidConfig, match=said):
        ask(agentflow, given, flow)
    assert seen == []


def test_a_parameter_that_names_a_flow_takes_a_flow_that_is_there(agentflow: Kit) -> None:
    agentflow.agent("other", tools=[load_customer], replies=[])
    ask(agentflow, {"loader": "load_customer"}, load)
    assert seen == ["load_customer"]
