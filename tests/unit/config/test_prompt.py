"""The system prompt (A1)."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from agentflow.config.agent_config import AgentConfig
from agentflow.config.prompt import system_prompt
from agentflow.errors import InvalidConfig
from tests.unit.config.files import agent_of, refusal_of

GOOD = "name: support\nmodel: x\n"


def rendered(config: AgentConfig, **variables: Any) -> str:
    given: dict[str, Any] = {"inputs": {}, "vars": {}, "session": {"id": "s-1"}, "today": date(2026, 11, 30)}
    return system_prompt(config, **(given | variables))


def test_the_sections_come_in_one_order(tmp_path: Path) -> None:
    text = "constraints: [Never.]\nresponse_guidelines: [Be brief., 'Two\n\n  lines.']\nprompt: |\n  You help.\n"
    assert rendered(agent_of(tmp_path, GOOD + text)) == (
        "You help.\n\n# Response guidelines\n- Be brief.\n- Two\n  lines.\n\n# Constraints\n- Never."
    )


def test_an_agent_without_a_prompt_has_an_empty_one(tmp_path: Path) -> None:
    assert rendered(agent_of(tmp_path, GOOD)) == ""


def test_the_variables_are_inputs_vars_session_and_today(tmp_path: Path) -> None:
    text = "inputs: {a: {}}\nprompt: '{{ inputs.a }} {{ vars.b }} {{ session.id }} {{ today }}'\n"
    config = agent_of(tmp_path, GOOD + text)
    assert rendered(config, inputs={"a": 1}, vars={"b": [2]}) == "1 [2] s-1 2026-11-30"


def test_guidelines_and_constraints_are_templates_too(tmp_path: Path) -> None:
    text = "inputs: {lang: {}}\nresponse_guidelines: ['Answer in {{ inputs.lang }}.', '{% if false %}x{% endif %}']\n"
    prompt = rendered(agent_of(tmp_path, GOOD + text), inputs={"lang": "French"})
    assert prompt == "# Response guidelines\n- Answer in French."


def test_an_input_without_a_value_renders_as_nothing(tmp_path: Path) -> None:
    config = agent_of(tmp_path, GOOD + "inputs: {a: {}}\nprompt: 'x{{ inputs.a }}{% if inputs.a %}!{% endif %}'\n")
    assert rendered(config, inputs={"a": None}) == "x"


def test_texts_with_and_without_marks_keep_the_same_characters(tmp_path: Path) -> None:
    body = "prompt: |+\n  <b> & 'x'\n\n"
    assert rendered(agent_of(tmp_path, GOOD + body)) == "<b> & 'x'"
    assert rendered(agent_of(tmp_path, GOOD + body.replace("<b>", "{{ '<b>' }}"))) == "<b> & 'x'"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ input.x }}", "template variable 'input' does not exist, did you mean 'inputs'?"),
        ("{{ customer }}", "template variable 'customer' does not exist; there are inputs, vars, session, today"),
        ("{{ inputs.nam }}", "inputs.nam is not declared under inputs, did you mean 'name'?"),
        ("{{ inputs['nam'] }}", "inputs.nam is not declared"),
        ("{% if %}", "template error: "),
        ("{{ 1 | nofilter }}", "template error: No filter named 'nofilter'"),
        ("{% include 'x' %}", "a template cannot load other files"),
        ("{{ [1, 2] | random }}", "No filter named 'random'"),
        ("{{ lipsum() }}", "template variable 'lipsum' does not exist"),
    ],
)
def test_a_mistake_in_a_template_is_found_before_it_runs(tmp_path: Path, template: str, said: str) -> None:
    text = GOOD + f"inputs: {{name: {{}}}}\nprompt: |\n  Hello.\n\n    {template}\n"
    message = refusal_of(tmp_path, text)
    assert message.startswith("agent.yaml:7:5: prompt: ")
    assert said in message


@pytest.mark.parametrize(
    "template",
    [
        "{% set a = 1 %}{{ a }}",
        "{% for i in range(2) %}{{ i }}{{ loop.index }}{% endfor %}",
        "{{ inputs.items() | list }}",
        "{{ inputs['na' ~ 'me'] }}",
        "{% raw %}{{ anything }}{% endraw %}",
        "{# {{ anything }} #}",
    ],
)
def test_what_a_template_defines_itself_is_no_mistake(tmp_path: Path, template: str) -> None:
    config = agent_of(tmp_path, GOOD + f"inputs: {{name: {{}}}}\nprompt: >-\n  {template}\n")
    assert isinstance(rendered(config, inputs={"name": "n"}), str)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ vars.missing }}", "missing"),
        ("{{ vars.missing.more }}", "missing"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ vars.update({}) }}", "unsafe"),
        ("{{ vars.__class__.__mro__ }}", "__class__"),
        ("{{ range(999999999) | list }}", "range"),
        ("{{ today + 'x' }}", "unsupported operand"),
    ],
)
def test_what_fails_in_rendering_says_where(tmp_path: Path, template: str, said: str) -> None:
    config = agent_of(tmp_path, GOOD + f"prompt: |\n  One\n  {template}\n")
    with pytest.raises(InvalidConfig) as caught:
        rendered(config)
    assert caught.value.message.startswith("agent.yaml:5:3: prompt: the template cannot be rendered: ")
    assert said in caught.value.message


def test_a_value_is_never_a_template_itself(tmp_path: Path) -> None:
    config = agent_of(tmp_path, GOOD + "inputs: {a: {}}\nprompt: '{{ inputs.a }}'\n")
    assert rendered(config, inputs={"a": "{{ session.id }}"}) == "{{ session.id }}"


def test_all_templates_of_a_prompt_may_make_as_much_as_one(tmp_path: Path) -> None:
    """Z3: so many small ones would hold the loop as one may not."""
    text = "{% for each in range(20000) %}{% endfor %}x"
    assert rendered(agent_of(tmp_path, GOOD + f"prompt: '{text}'")) == "x"
    with pytest.raises(InvalidConfig, match="more than a prompt may hold"):
        rendered(agent_of(tmp_path, GOOD + f"prompt: '{text}'\nconstraints: ['{text}']"))
