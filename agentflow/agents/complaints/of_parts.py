"""Complaints about what an agent names and about what makes no sense together."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agentflow.agents.complaints.about import AGENT, SCRIPT, About
from agentflow.config.document.codes import Code

_HELPER = "agents/helper/agent.yaml"
_FLOWS = "workflows/mine.py"
_KEY = "api_key: '${KEY_OF_NOBODY:-none}'"

_NAMED: Mapping[Code, About] = MappingProxyType(
    {
        Code.INTERFACE: About(
            "`llm://NAME`, or the name of an interface, leads to none that there is, or back to itself.",
            "Declare it under `interfaces`, or name another one; `main` is the one of `model`.",
            keys="settings: {naming_interface: small}\n",
        ),
        Code.EXTRA_KEY: About(
            "`extra` holds what agentflow gives itself, or what litellm keeps for itself.",
            "Use the key the complaint names, or leave it out.",
            keys="interfaces: {fast: {model: scripted/replies.yaml, extra: {stream: true}}}\n",
        ),
        Code.UNKNOWN_PROVIDER: About(
            "The model string begins with no provider that litellm knows.",
            "Write PROVIDER/MODEL; for an own server with OpenAI's API `openai/MODEL` and `api_base`.",
            keys="interfaces: {fast: {model: antropic/claude-sonnet-4-5}}\n",
        ),
        Code.SCRIPT: About(
            "The script of a scripted model is missing or cannot be read.",
            "See [the scripted model](scripted-model.md) for its keys.",
            files={SCRIPT: "replies: [{txt: Hello.}]\n"},
        ),
        Code.NO_API_KEY: About(
            "The provider needs a key, and neither the environment nor the interface has one.",
            "Set the variable the complaint names.",
            keys="interfaces: {fast: {model: openai/gpt-4o}}\n",
        ),
        Code.UNKNOWN_PRICE: About(
            "`max_cost` is set for a model whose price nobody knows, so that it never ends a turn.",
            "Limit tokens instead: `max_input_tokens`, `max_output_tokens`.",
            files={
                AGENT: "name: example\nsettings: {max_cost: 1}\n"
                f"interfaces: {{main: {{model: openai/my-own, api_base: 'https://example.com', {_KEY}}}}}\n"
            },
        ),
        Code.FLOW: About(
            "There is no flow of this name, or the file it is in cannot be used.",
            "Write a plain function of that name in workflows/, or mend the file.",
            keys="tools: [look_up]\n",
        ),
        Code.FLOW_SIGNATURE: About(
            "A parameter of a flow has a type that cannot be described to a model, or the flow is a hook and no tool.",
            "Annotate it with a plain type: `str`, `int`, `list[str]`, a TypedDict, a pydantic model.",
            keys="tools: [look]\n",
            files={_FLOWS: "from collections.abc import Callable\n\n\ndef look(back: Callable[[], str]) -> str: ...\n"},
        ),
        Code.BUILT_IN_NAME: About(
            "The name belongs to a tool that is there by itself.", "Choose another name.", keys="tools: [task]\n"
        ),
        Code.NAMED_TWICE: About(
            "Two entries of a list have the same name.",
            "Rename or remove one of them.",
            keys="tools: [calculate, calculate]\n",
        ),
        Code.TOOL_HANDLER: About(
            "The keys of a tool do not fit who does it: a flow, a worker or the client.",
            "A tool of the client has name, description and parameters; any other has a flow.",
            keys="tools: [{flow: calculate, handler: worker}]\n",
        ),
        Code.TOOL_PARAMETERS: About(
            "`parameters` of a client's tool is no JSON Schema of an object.",
            "Write `{type: object, properties: {...}}`.",
            keys="tools: [{handler: client, name: show, description: Shows it., parameters: {type: array}}]\n",
        ),
        Code.HOOK_SIGNATURE: About(
            "A parameter of a hook's flow is given nothing at this point of a turn.",
            "Name it after what is given, listed in the complaint, or give it under `with`.",
            keys="hooks: {pre_tool: [check]}\n",
            files={_FLOWS: "def check(customer: str) -> None: ...\n"},
        ),
        Code.HOOK_ARGUMENTS: About(
            "`with` of a hook does not fit the parameters of its flow.",
            "Give values for the flow's own parameters, of their types.",
            keys="hooks: {pre_tool: [{flow: check, with: {costumer: Ann}}]}\n",
            files={_FLOWS: 'def check(customer: str = "") -> None: ...\n'},
        ),
        Code.WORKER: About(
            "There is no such function to ask as a worker.",
            "Write FILE.py:FUNCTION, MODULE:FUNCTION or a URL.",
            keys="worker: decide.py:decide\n",
        ),
        Code.OPEN_WORKER: About(
            "A worker at an `http://` address is sent whole conversations, which can be read on the way.",
            "Use `https://`.",
            keys="worker: http://example.com/decide\nworker_secret: '${SECRET_OF_NOBODY:-none}'\n",
        ),
        Code.MATERIAL: About(
            "The file of a skill or a reference is missing, too large, no text, or outside of the project.",
            "Put it into the project's folder.",
            keys="skills: [refunds.md]\n",
        ),
        Code.FRONT_MATTER: About(
            "A skill's file does not begin with its name and description between two lines `---`.",
            "Begin it with `---`, `name: ...`, `description: ...`, `---`.",
            keys="skills: [refunds.md]\n",
            files={"agents/example/refunds.md": "Refund within 30 days.\n"},
        ),
        Code.SUB_AGENT: About(
            "There is no such agent.", "Name one that there is, or its path.", keys="sub_agents: [nobody]\n"
        ),
        Code.SUB_AGENT_INVALID: About(
            "A sub-agent's own file has mistakes; the first of them is told.",
            "Run `agentflow validate` on it.",
            keys="sub_agents: [helper]\n",
            files={_HELPER: "name: helper\n"},
        ),
        Code.SUB_AGENT_CIRCLE: About(
            "Sub-agents call each other in a circle.",
            "Take one of them out of it.",
            keys="sub_agents: [example]\n",
        ),
    }
)

_TOGETHER: Mapping[Code, About] = MappingProxyType(
    {
        Code.SUB_AGENT_SETTING: About(
            "A sub-agent says what only the agent of the session can say.",
            "Give both the same `observability`.",
            keys="sub_agents: [helper]\n",
            files={
                _HELPER: "name: helper\nmodel: scripted/../example/replies.yaml\nsettings: {observability: false}\n"
            },
        ),
        Code.SUB_AGENT_INPUT: About(
            "A sub-agent requires an input that no request to this agent can give.",
            "Declare the input here too, or do not require it there.",
            keys="sub_agents: [helper]\n",
            files={
                _HELPER: "name: helper\nmodel: scripted/../example/replies.yaml\n"
                "inputs: {customer: {type: string, required: true}}\n"
            },
        ),
        Code.WINDOW: About(
            "The window leaves no room beside what is kept free for the reply.",
            "Give the model's whole window, or `over_tokens` of the strategy.",
            keys="context: {window: 8000, strategy: [{use: summarize}]}\n",
        ),
        Code.NEVER_APPLIES: About(
            "A way of making room can never be taken.",
            "Give it a size or a time, or put it before the one that is always taken first.",
            keys="context: {strategy: [{use: reset}]}\n",
        ),
        Code.NEVER_BINDS: About(
            "A limit is never reached: another one ends the turn before it.",
            "Lower it, or raise the other one.",
            keys="settings: {turn_timeout_secs: 60, llm_timeout_secs: 90}\n",
        ),
        Code.NO_EFFECT: About(
            "A key is given that does nothing here.",
            "Leave it out, or give what it needs.",
            keys="settings: {snap_session_rate: 0.5}\n",
        ),
        Code.NOT_KEPT: About(
            "`observability: false` erases the texts of a turn when it ends; the model does not see them again.",
            "Leave it out, unless that is meant.",
            keys="settings: {observability: false}\n",
        ),
        Code.HALF_COMPACTION: About(
            "One half of the compaction's settings does nothing without the other.",
            "Give the fraction and the window.",
            keys="settings: {compaction_threshold_fraction: 0.8}\n",
        ),
    }
)

OF_PARTS: Mapping[Code, About] = MappingProxyType({**_NAMED, **_TOGETHER})
