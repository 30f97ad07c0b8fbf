"""agent.yaml to a frozen configuration (A2, A3, A7; B25, B67, B68, B69, B70)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from agentflow.config.agent_config import Interface, Settings, ToolEntry
from agentflow.config.document.codes import Code
from agentflow.config.keys.agent import AgentKeys
from agentflow.config.keys.base import Keys
from agentflow.errors import InvalidConfig, InvalidInput
from tests.unit.config.files import agent_of, refusal_of

GOOD = "name: support\nmodel: scripted/replies.yaml\n"


def test_a_small_file_gives_every_default(tmp_path: Path) -> None:
    config = agent_of(tmp_path, GOOD)
    assert config.name == "support"
    assert config.settings == Settings()
    assert config.interfaces == {"main": Interface(model="scripted/replies.yaml")}
    assert (config.prompt, config.tools, config.constraints, dict(config.inputs)) == ("", (), (), {})
    assert (config.path, config.folder) == (tmp_path / "agent.yaml", tmp_path)


def test_the_limits_have_the_figures_of_the_table() -> None:
    """turns.md, limits"""
    figures = {
        "max_iterations": 50,
        "max_tool_calls": 100,
        "max_parallel_tools": 4,
        "max_tool_calls_per_reply": 32,
        "max_consecutive_tool_errors": 5,
        "max_repeated_calls": 5,
        "turn_timeout_secs": 600,
        "llm_timeout_secs": 120,
        "llm_retries": 3,
        "tool_timeout_secs": 60,
        "tool_result_max_chars": 50000,
        "max_input_tokens": 0,
        "max_output_tokens": 0,
        "max_cost": 0,
    }
    assert Settings().model_dump(include=set(figures)) == figures
    assert Settings().on_limit == "answer"


def test_nothing_of_a_configuration_can_be_changed(tmp_path: Path) -> None:
    config = agent_of(tmp_path, GOOD)
    with pytest.raises(ValidationError):
        config.name = "x"
    with pytest.raises(ValidationError):
        config.settings.max_iterations = 1
    with pytest.raises(TypeError):
        config.interfaces["main"] = Interface(model="x")  # type: ignore[index]
    with pytest.raises(TypeError):
        config.interfaces["main"].extra["a"] = 1  # type: ignore[index]


def test_a_tool_is_a_name_or_a_mapping(tmp_path: Path) -> None:
    text = GOOD + "tools: [query, 'billing:refund', {flow: 'a:b', name: c, timeout_secs: 2, ends_turn: true}]"
    assert agent_of(tmp_path, text).tools == (
        ToolEntry(flow="query", name="query"),
        ToolEntry(flow="billing:refund", name="refund"),
        ToolEntry(flow="a:b", name="c", timeout_secs=2, ends_turn=True),
    )


def test_the_same_tool_twice_is_an_error(tmp_path: Path) -> None:
    """A2, B68: by the name the model sees."""
    message = refusal_of(tmp_path, GOOD + "tools:\n  - query\n  - {flow: 'x:query'}\n  - {flow: query, name: q}\n")
    assert message.startswith("agent.yaml:5:5: tools[1]: the tool 'query' is named twice, first as tools[0]")
    assert "tools[2]" not in message


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("instrutions: x", "instrutions: unknown key; write `prompt: "),
        ("modle: x", "modle: unknown key, did you mean 'model'?"),
        ("Settings: {}", "Settings: unknown key, did you mean 'settings'?"),
        ("lean_history: true", "lean_history: unknown key here; 'lean_history' belongs under settings"),
        ("lean_histroy: true", "did you mean 'lean_history', which belongs under settings?"),
        ("inline: true", "'inline' belongs under an entry of skills"),
        ("settings: {lean_histroy: true}", "settings.lean_histroy: unknown key, did you mean 'lean_history'?"),
        ("settings: {prompt: x}", "settings.prompt: unknown key here; 'prompt' belongs at the top level"),
        ("prompt: {tools: [query]}", "prompt: must be a text, not a mapping; 'tools' belongs at the top level"),
        ("zebra: w.py", "zebra: unknown key; known here: version, name,"),
        ("tools: [{flow: a, nam: b}]", "tools[0].nam: unknown key, did you mean 'name'?"),
        ("interfaces: {model: {model: a, modle: b}}", "interfaces.model.modle: unknown key, did you mean 'model'?"),
    ],
)
def test_a_key_that_does_not_exist_here_is_an_error_with_a_suggestion(tmp_path: Path, line: str, said: str) -> None:
    """B67"""
    assert said in refusal_of(tmp_path, GOOD + line + "\n")


LATER = "snap_session_mode name_chats"


@pytest.mark.parametrize("key", LATER.split())
def test_a_key_of_a_later_version_is_unknown(tmp_path: Path, key: str) -> None:
    assert f"{key}: unknown key" in refusal_of(tmp_path, GOOD + f"{key}: x\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("settings: {lean_history: 'false'}", "must be true or false, not the text 'false'; remove the quotes"),
        ("settings: {lean_history: no}", "must be true or false, not the text 'no'; write true or false"),
        ("settings: {lean_history: 0}", "must be true or false, not the number 0"),
        ("settings: {max_cost: '0.8'}", "must be a number, not the text '0.8'; remove the quotes"),
        ("settings: {max_iterations: 1.5}", "must be a whole number, not the number 1.5"),
        ("settings: {max_iterations: true}", "must be a whole number, not the boolean true"),
        ("settings: {max_iterations: 32k}", "must be a whole number, not the text '32k'"),
        ("settings: {max_iterations: -1}", "must be at least 0, not the number -1"),
        ("settings: {turn_timeout_secs: -0.5}", "must be at least 0, not the number -0.5"),
        ("settings: {max_cost: .inf}", "must be a finite number, not the number inf (written .inf)"),
        ("settings: {logging_level: inf}", "did you mean 'info'?"),
        ("settings: {on_limit: halt}", "settings.on_limit: must be one of 'answer',"),
        ("settings: []", "settings: must be a mapping of keys, not a list"),
        ("settings:", "settings: must be a mapping of keys, not nothing"),
        ("tools: query", "tools: must be a list, not the text 'query'"),
        ("tools: [5]", "tools[0]: must be a text or a mapping of keys, not the number 5"),
        ("tools: [{name: x}]", "tools[0].flow: is required"),
        ("tools: ['']", "tools[0].flow: must be a text that is not empty"),
        ("prompt: 0123", 'prompt: must be a text, not the number 123 (written 0123); put it in quotes: "0123"'),
        ("description: true", "must be a text, not the boolean true; put it in quotes"),
        ("version: 1.10", "version: must be a whole number, not the number 1.1 (written 1.10)"),
        ("version: 2", "version: must be at most 1, not the number 2"),
        ("version: true", "version: must be a whole number, not the boolean true"),
        ("interfaces: {a: {}}", "interfaces.a.model: is required"),
        ("inputs: {a: {type: int}}", "inputs.a.type: must be one of 'string', 'number'"),
        ("inputs: {a: {type: integer, default: x}}", "inputs.a.default: must be an integer"),
        ("inputs: {a: {type: integer, enum: [1, x]}}", "inputs.a.enum[1]: must be an integer"),
        ("inputs: {a: {enum: [x], default: y}}", 'inputs.a.default: must be one of "x"'),
        ("inputs: {a: {required: true, default: y}}", "inputs.a.default: a required input never uses its default"),
    ],
)
def test_a_wrong_value_is_named_as_it_was_read(tmp_path: Path, line: str, said: str) -> None:
    """B25, B69"""
    message = refusal_of(tmp_path, GOOD + line + "\n")
    assert message.startswith("agent.yaml:3:")
    assert said in message


@pytest.mark.parametrize("name", ["Support", "1a", "a b", "x" * 65, "''"])
def test_a_name_has_one_form(tmp_path: Path, name: str) -> None:
    assert "name: must be a text of the form" in refusal_of(tmp_path, f"name: {name}\nmodel: x\n")


def test_no_is_a_name(tmp_path: Path) -> None:
    """B69"""
    assert agent_of(tmp_path, "name: no\nmodel: x\n").name == "no"


@pytest.mark.parametrize(
    ("text", "found"), [("", "it is empty"), ("# x\n", "it is empty"), ("- a\n", "a list"), ("hello", "'hello'")]
)
def test_a_file_that_is_no_mapping_says_what_it_is(tmp_path: Path, text: str, found: str) -> None:
    """B69"""
    message = refusal_of(tmp_path, text)
    assert message.startswith("agent.yaml:1:1: the file must be a mapping of keys")
    assert found in message


def test_all_mistakes_are_reported_at_once_in_order_with_line_and_caret(tmp_path: Path) -> None:
    """A2: what YAML, the schema and the cross-checks have to say, in one go."""
    text = """\
name: support
model: llm://nope
prompt: "{{ input.x }}"
tools: [a, a, 5]
settings:
  lean_histroy: true
  max_iterations: ${UNSET}
  memory: 1
  memory: 2
constraints: ["{% if %}", 7]
"""
    with pytest.raises(InvalidConfig) as caught:
        agent_of(tmp_path, text)
    problems = caught.value.detail["problems"]
    assert [(each["line"], each["column"], each["key"]) for each in problems] == [
        (2, 8, "model"),
        (3, 9, "prompt"),
        (4, 12, "tools[1]"),
        (4, 15, "tools[2]"),
        (6, 3, "settings.lean_histroy"),
        (7, 19, "settings.max_iterations"),
        (9, 3, "settings.memory"),
        (10, 15, "constraints[0]"),
        (10, 27, "constraints[1]"),
    ]
    assert (
        "agent.yaml:6:3: settings.lean_histroy: unknown key, did you mean 'lean_history'?\n"
        "      lean_histroy: true\n"
        "      ^\n" in caught.value.message
    )


def test_free_keys_are_allowed_at_every_level_and_can_be_merged(tmp_path: Path) -> None:
    """A2"""
    text = """\
x-base: &base {x-note: [1], max_cost: 2.5}
interfaces: {x-old: 5, fast: {model: a, x-why: because}}
inputs: {x-later: nothing, a: {x-y: 1}}
settings:
  <<: *base
  x-c: {deep: true}
tools: [{flow: q, x-z: 1}]
"""
    config = agent_of(tmp_path, GOOD + text)
    assert config.settings.max_cost == 2.5
    assert list(config.inputs) == ["a"]
    assert set(config.interfaces) == {"fast", "main"}


def test_extra_keeps_what_it_is_given(tmp_path: Path) -> None:
    text = GOOD.replace("model: scripted/replies.yaml", "interfaces: {main: {model: a, extra: {x-header: 1, b: [2]}}}")
    assert agent_of(tmp_path, text).interfaces["main"].extra == {"x-header": 1, "b": [2]}


def test_variables_in_number_and_boolean_keys_are_read_like_yaml(tmp_path: Path) -> None:
    """A3"""
    text = GOOD + "prompt: ${N}\nsettings: {max_iterations: '${N}', lean_history: '${B}', max_cost: '${C:-1.5}'}\n"
    text += "inputs: {a: {type: integer, default: '${N}'}, b: {default: '${N}'}}\n"
    config = agent_of(tmp_path, text, {"N": "7", "B": "false"})
    settings = config.settings
    assert (settings.max_iterations, settings.lean_history, settings.max_cost) == (7, False, 1.5)
    assert config.prompt == "7"
    assert (config.inputs["a"].default, config.inputs["b"].default) == (7, "7")


def test_a_variable_that_is_no_number_is_named_but_not_shown(tmp_path: Path) -> None:
    """A3, B70"""
    text = GOOD + "settings: {max_iterations: '${N}', logging_level: '${N}'}\n"
    message = refusal_of(tmp_path, text, {"N": "hush"})
    assert "settings.max_iterations: must be a whole number, not the value of ${N}" in message
    assert "hush" not in message


def test_a_secret_of_the_wrong_type_is_not_shown(tmp_path: Path) -> None:
    """A3"""
    message = refusal_of(tmp_path, GOOD + "interfaces: {a: {model: b, api_key: 12345, temprature: 1}}\n")
    assert "interfaces.a.api_key: must be a text" in message
    assert "temprature" in message
    assert "12345" not in message


def test_llm_references_are_resolved_with_their_own_keys_on_top(tmp_path: Path) -> None:
    text = """\
name: support
model: llm://cold
interfaces:
  cold: {model: llm://base, temperature: 0}
  base: {model: openai/x, temperature: 1, top_p: 0.5}
"""
    config = agent_of(tmp_path, text)
    assert config.interfaces["cold"] == Interface(model="openai/x", temperature=0, top_p=0.5)
    assert config.interfaces["main"] == config.interfaces["cold"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model: llm://fats\ninterfaces: {fast: {model: a}}", "2:8: model: there is no interface 'fats', did you mean"),
        ("model: llm://x", "2:8: model: there is no interface 'x'; there are none"),
        ("model: a\ninterfaces: {b: {model: llm://c}}", "3:25: interfaces.b.model: there is no interface 'c'"),
        ("model: llm://main", "2:8: model: leads back to itself: main -> main"),
        (
            "model: a\ninterfaces: {b: {model: llm://c}, c: {model: llm://b}}",
            "interfaces.c.model: leads back to itself: c -> b -> c",
        ),
        ("model: a\ninterfaces: {main: {model: b}}", "2:8: model: is given twice, here and as interfaces.main"),
        ("prompt: hi", "1:1: model: is required: a model string, or interfaces.main"),
    ],
)
def test_a_model_that_leads_nowhere_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal_of(tmp_path, "name: support\n" + text + "\n")


def test_the_name_of_an_agent_in_a_project_is_that_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "billing"
    folder.mkdir(parents=True)
    assert "agent.yaml:1:1: name: is 'support', but the folder is 'billing'" in refusal_of(folder, GOOD)


def test_the_hash_is_that_of_what_is_in_force(tmp_path: Path) -> None:
    """A7: comments, order and written-out defaults do not change it; a value does."""
    first = agent_of(tmp_path, GOOD).hash
    same = agent_of(tmp_path, "# hello\nmodel: scripted/replies.yaml\nsettings: {max_iterations: 50}\nname: support\n")
    other = agent_of(tmp_path, GOOD + "settings: {max_iterations: 51}\n")
    assert first == same.hash
    assert first != other.hash
    assert len(first) == 64


def test_secrets_are_neither_in_the_hash_nor_in_the_public_form_nor_in_the_repr(tmp_path: Path) -> None:
    """A3, A7"""
    text = "name: support\ninterfaces: {main: {model: a, api_key: '${K}', extra: {auth_token: '${K}'}}}\n"
    one, two = (agent_of(tmp_path, text, {"K": value}) for value in ("sk-one", "sk-two"))
    assert one.hash == two.hash
    assert one.interfaces["main"].api_key == "sk-one"
    assert "sk-one" not in str(one.public())
    assert "sk-one" not in repr(one)


def test_later_checks_can_say_where(tmp_path: Path) -> None:
    """A4"""
    config = agent_of(tmp_path, GOOD + "tools:\n  - a\n  - {flow: b}\nprompt: |\n  one\n\n  three\n")
    assert config.position("tools", 1) == "agent.yaml:5:5"
    assert config.position("tools", 1, "flow") == "agent.yaml:5:12"
    assert str(config.problem(("tools", 0), Code.FLOW, "no such flow")).startswith(
        "agent.yaml:4:5: tools[0]: no such flow\n"
    )
    assert config.invalid(("prompt",), Code.TEMPLATE, "bad", line=3).message.startswith(
        "agent.yaml:9:3: prompt: bad\n      three\n"
    )


def test_settings_can_be_changed_for_one_turn(tmp_path: Path) -> None:
    config = agent_of(tmp_path, GOOD)
    changed = config.with_settings({"max_iterations": 3})
    assert (changed.settings.max_iterations, config.settings.max_iterations) == (3, 50)
    assert changed.hash != config.hash
    assert changed.position("name") == config.position("name")
    with pytest.raises(InvalidInput, match="max_iterations"):
        config.with_settings({"max_iterations": -1})


def test_every_key_has_a_description_and_its_type_is_strict() -> None:
    """A5"""

    def classes(keys: type[Keys]) -> list[type[Keys]]:
        from agentflow.config.keys.base import keys_below

        below = [keys_below(field.annotation) for field in keys.model_fields.values()]
        return [keys, *(found for each in below if each for found in classes(each))]

    for keys in classes(AgentKeys):
        assert keys.model_config["strict"]
        assert all(field.description for field in keys.model_fields.values()), keys


def test_interfaces_can_be_keys_of_a_cache() -> None:
    one, same, other = (Interface(model="a", extra={"b": value}) for value in ([1], [1], [2]))
    assert hash(one) == hash(same)
    assert {one: "x"}[same] == "x"
    assert other not in {one: "x"}
