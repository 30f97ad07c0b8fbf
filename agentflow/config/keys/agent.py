"""Every key of agent.yaml: its type, its default, its description. To add a key is to add a `Field` here (A2, A5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from agentflow.config.document.codes import Code
from agentflow.config.document.scalars import read_scalar
from agentflow.config.document.variables import Substituted
from agentflow.config.keys.base import Complaint, Items, Keys, Named, Verbatim, as_written, complain
from agentflow.config.keys.checks.cross_checks import agent_complaints, tool_name
from agentflow.config.keys.context import ContextKeys
from agentflow.config.keys.input_types import misfit
from agentflow.config.keys.references import interface_name
from agentflow.config.keys.spellings import AGENT, Spelling

AGENT_NAME = r"^[a-z][a-z0-9_-]{0,63}$"

InputType = Literal["string", "number", "integer", "boolean", "array", "object"]


class Interface(Keys):
    """One way to call a language model."""

    model: str = Field(
        min_length=1,
        description="A litellm model string, scripted/PATH.yaml (a scripted model), or llm://NAME: another interface, "
        "whose keys hold where this one gives none.",
    )
    api_base: str | None = Field(default=None, description="Address of the provider's API, if not its usual one.")
    api_key: str | None = Field(
        default=None,
        repr=False,
        description="Key for the API; write ${VAR}. Without it the provider's own variable is used.",
    )
    temperature: float | None = Field(
        default=None, ge=0, description="Sampling temperature; unset: the provider's default."
    )
    top_p: float | None = Field(
        default=None, ge=0, le=1, description="Nucleus sampling; unset: the provider's default."
    )
    max_output_tokens: int | None = Field(
        default=None, ge=1, description="Most tokens of one reply; unset: the model's own."
    )
    reasoning_effort: str | None = Field(
        default=None, min_length=1, description="How long a reasoning model thinks, in the provider's words."
    )
    reads: Items[Literal["image", "pdf", "audio"]] | None = Field(
        default=None,
        description="What the model reads besides text; the rest becomes a note. Unset: as litellm's table says, "
        "everything for a model that is not there, and for a script.",
    )
    timeout_secs: float | None = Field(
        default=None, ge=0, description="Time limit of one call in seconds; unset: settings.llm_timeout_secs; 0: none."
    )
    fallback: Items[str] = Field(
        default=(),
        max_length=8,
        description="Models asked in this order, each once, when the one before is rate limited, unavailable or too "
        "slow before it has said anything: model strings, or llm://NAME.",
    )
    cool_down_secs: float = Field(
        default=60,
        ge=0,
        le=3600,
        description="How long a model that failed so is passed over while another of `fallback` can be asked; a "
        "shorter wait that the provider names counts instead.",
    )
    cache: Literal["auto", "off"] = Field(
        default="auto",
        description="auto: the part of a request that stays the same from turn to turn is marked for providers that "
        "keep only what is marked; off: nothing is.",
    )
    extra: Verbatim = Field(
        default={},
        repr=False,
        description="Further parameters of the provider, sent as they are; not what other keys say, and none of "
        "litellm's own.",
    )

    _written = field_validator("api_base", "api_key", mode="wrap")(as_written)

    def __hash__(self) -> int:  # equal interfaces have equal ones; `extra` cannot be hashed
        return hash((self.model, self.api_base))


class ToolEntry(Keys):
    """A tool the model may call: a flow and how it is offered. The name of the flow alone is enough.

    A tool that the client performs (`handler: client`) has no flow, but a name, a description and parameters.
    """

    short: ClassVar[str | None] = "flow"
    forms: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"required": ["flow"]},
        {"required": ["name", "description", "handler"], "properties": {"handler": {"const": "client"}}},
    )

    flow: str | None = Field(
        default=None,
        min_length=1,
        description="The flow: its name, or FILE:NAME; looked up in the project's workflows/, then among the shipped. "
        "Required, unless the client performs the tool.",
    )
    name: str = Field(
        default_factory=str,
        validate_default=False,
        pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$",
        description="What the model calls it; the flow's name unless given.",
    )
    timeout_secs: float | None = Field(
        default=None, ge=0, description="Time limit in seconds; unset: settings.tool_timeout_secs; 0: none."
    )
    max_result_chars: int | None = Field(
        default=None,
        ge=0,
        description="Longest result in characters; unset: settings.tool_result_max_chars; 0: no limit.",
    )
    ends_turn: bool = Field(default=False, description="Whether its result is the turn's answer.")
    handler: Literal["flow", "worker", "client"] = Field(
        default="flow",
        description="Who does it: the flow; the worker, then the flow is only the tool's name and form; or the client: "
        "the turn pauses until the client gives the result.",
    )
    description: str = Field(default="", description="What it does, for the model; only of a tool of the client.")
    parameters: Verbatim = Field(
        default={},
        description="JSON Schema of its arguments, an object; only of a tool of the client. Empty: no arguments.",
    )

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        name = tool_name(values.get("flow"))
        return values if name is None else {"name": name, **values}


class InputSpec(Keys):
    """A value that a request gives, or may give, beside its message."""

    type: InputType = Field(default="string", description="Type of the value.")
    required: bool = Field(default=False, description="Whether a request without it is refused.")
    default: Any = Field(default=None, description="The value when a request gives none.")
    description: str = Field(default="", description="What it is, for whoever writes requests.")
    enum: Items[Any] = Field(default=(), description="The only values allowed; empty: any of the type.")

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        default = values.get("default")
        if isinstance(default, Substituted) and values.get("type", "string") != "string":
            return {**values, "default": read_scalar(default)}
        return values

    @model_validator(mode="after")
    def _allows_its_values(self) -> Self:
        complaints = []
        for index, value in enumerate(self.enum):
            if reason := misfit(self.type, (), value):
                complaints.append(Complaint(Code.INPUT_VALUE, f"{reason}, like the input itself", ("enum", index)))
        if self.default is not None:
            if self.required:
                complaints.append(
                    Complaint(Code.INPUT_VALUE, "a required input never uses its default; remove one", ("default",))
                )
            if reason := misfit(self.type, self.enum, self.default):
                complaints.append(Complaint(Code.INPUT_VALUE, reason, ("default",)))
        complain(complaints)
        return self


class Planning(Keys):
    """How the agent plans its turns. `true` alone means these keys without a value."""

    planner: str | None = Field(
        default=None,
        pattern=r"^llm://.+",
        description="llm://NAME: the interface that plans each turn before it starts; unset: no planning call.",
    )


def _switched(value: Any) -> Any:
    """`true` and `false` as the keys they stand for, and as none."""
    if isinstance(value, Substituted):
        value = read_scalar(value)
    return ({} if value else None) if isinstance(value, bool) else value


def _interface_named(reference: str | None) -> str | None:
    return None if reference is None else interface_name(reference)


class Settings(Keys):
    """How turns run. For every limit 0 means none, unless said otherwise."""

    lean_history: bool = Field(
        default=True,
        description="Send the tool calls and results of the running turn only; earlier turns as their texts.",
    )
    compaction_threshold_fraction: float = Field(
        default=0,
        ge=0,
        le=1,
        description="Summarize the older conversation at the start of a turn once the last model call read this part "
        "of the window; 0: off.",
    )
    compaction_context_window_tokens: int = Field(
        default=0, ge=0, description="The model's context window in tokens, for compaction; 0: off."
    )
    compaction_keep_recent_messages: int = Field(
        default=30, ge=0, description="How many messages before the new one a compaction keeps word for word, at least."
    )
    compaction_interface: Annotated[str | None, AfterValidator(_interface_named)] = Field(
        default=None, min_length=1, description="The interface that writes the summary; unset: main."
    )
    name_chats: bool = Field(
        default=True, description="Give a session a short name once its agent has answered, by a model call of its own."
    )
    naming_interface: Annotated[str | None, AfterValidator(_interface_named)] = Field(
        default=None, min_length=1, description="The interface that writes the name; unset: main."
    )
    retention_days: int | None = Field(
        default=None,
        ge=0,
        description="Days after which cleanup removes an unused session; unset: the project's; 0: never.",
    )
    snap_session_mode: Literal["none", "all", "sample"] = Field(
        default="none",
        description="Which sessions' data is snapshotted as flows load it (get_with_snap): none, all or a sample, "
        "decided once a session.",
    )
    snap_session_rate: float = Field(
        default=0.1, ge=0, le=1, description="With snap_session_mode sample: the part of the sessions."
    )
    memory: bool = Field(default=False, description="Reserved: accepted, without effect.")
    observability: bool = Field(
        default=True, description="Keep messages, calls and usage; false erases a turn's texts when it ends."
    )
    logging_level: Literal["off", "debug", "info", "warn"] = Field(default="info", description="How much is logged.")
    max_iterations: int = Field(default=50, ge=0, description="Model calls in one step.")
    max_tool_calls: int = Field(default=100, ge=0, description="Tool calls in one step.")
    max_parallel_tools: int = Field(default=4, ge=0, description="Tool calls running at once; the others wait.")
    max_tool_calls_per_reply: int = Field(
        default=32, ge=0, description="Tool calls in one reply; the rest are left out, and the reply says so."
    )
    max_consecutive_tool_errors: int = Field(default=5, ge=0, description="Failed tool calls in a row.")
    max_repeated_calls: int = Field(default=5, ge=0, description="Calls with the same name and arguments in a row.")
    max_continuations: int = Field(
        default=3, ge=0, le=8, description="How often step_end hooks can make a step go on; 0: never."
    )
    max_subagent_depth: int = Field(default=3, ge=0, description="How deep sub-agents may call sub-agents.")
    turn_timeout_secs: float = Field(
        default=600, ge=0, description="Seconds a turn may run, paused time not counted; then it fails."
    )
    llm_timeout_secs: float = Field(default=120, ge=0, description="Seconds one model call may take.")
    llm_retries: int = Field(
        default=3, ge=0, description="Retries of a model call that failed for a passing reason; 0: none."
    )
    tool_timeout_secs: float = Field(default=60, ge=0, description="Seconds one tool call may take.")
    tool_result_max_chars: int = Field(
        default=50_000, ge=0, description="Longest tool result sent to the model, in characters; the middle is cut out."
    )
    max_input_tokens: int = Field(default=0, ge=0, description="Input tokens of a turn.")
    max_output_tokens: int = Field(default=0, ge=0, description="Output tokens of a turn.")
    max_cost: float = Field(default=0, ge=0, description="Cost of a turn in US dollars.")
    on_limit: Literal["answer", "stop", "ask"] = Field(
        default="answer",
        description="At a limit: answer (one last call without tools, so that the user gets an answer), stop (the "
        "turn fails with limit_reached) or ask (the user decides whether the turn goes on).",
    )
    ask_user_expiry_secs: float = Field(
        default=0, ge=0, description="Seconds after which a question is not waited for any more; 0: no end."
    )


class SkillEntry(Keys):
    """A skill: a markdown file with front matter. The path of the file alone is enough."""

    short: ClassVar[str | None] = "file"

    file: str = Field(min_length=1, description="The markdown file; its front matter has name and description.")
    inline: bool = Field(default=False, description="Put the whole skill into the prompt instead of listing it.")


class ReferenceEntry(Keys):
    """A text that the model can read when it needs it."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$", description="What the model calls it.")
    description: str = Field(default="", description="What is in it.")
    file: str = Field(min_length=1, description="The text file.")


class HookEntry(Keys):
    """A flow that is called at a point of each turn. The name of the flow alone is enough."""

    short: ClassVar[str | None] = "flow"

    flow: str = Field(min_length=1, description="The flow: its name, or FILE:NAME, found like a tool's.")
    on_error: Literal["fail", "ignore"] = Field(
        default="fail", description="When it raises or takes too long: fail the turn, or go on without it."
    )
    timeout_secs: float = Field(default=60, ge=0, description="Seconds it may take; 0: no limit.")
    arguments: Verbatim = Field(
        default={},
        alias="with",
        description="Values for its parameters; texts are templates: inputs, vars, session, today.",
    )


class HookKeys(Keys):
    """Flows called at the points of a turn, in the order listed."""

    step_start: Items[HookEntry] = Field(default=(), description="Once per step, before the model sees the message.")
    step_end: Items[HookEntry] = Field(default=(), description="Before the answer counts as final.")
    pre_model: Items[HookEntry] = Field(default=(), description="Before each model call; may change the request.")
    post_model: Items[HookEntry] = Field(default=(), description="After each reply; may change it.")
    pre_tool: Items[HookEntry] = Field(default=(), description="Before each tool call; may deny it or change it.")
    post_tool: Items[HookEntry] = Field(default=(), description="After each tool call; may replace the result.")


class AgentKeys(Keys):
    """One agent."""

    spellings: ClassVar[Sequence[Spelling]] = AGENT

    version: int = Field(default=1, ge=1, le=1, description="Version of the format.")
    name: str = Field(pattern=AGENT_NAME, description="Name of the agent, and of its folder.")
    description: str = Field(default="", description="What the agent is for.")
    interfaces: Named[Interface] = Field(default={}, description="Ways to call models, by name; turns run with main.")
    model: str | None = Field(
        default=None, min_length=1, description="Short for interfaces.main: its model string, or llm://NAME."
    )
    inputs: Named[InputSpec] = Field(
        default={}, description="Values a request gives, by name; checked for each request."
    )
    prompt: str = Field(
        default="", description="The system prompt, a jinja2 template: inputs, vars, session, today. $$ is a plain $."
    )
    skills: Items[SkillEntry] = Field(
        default=(), description="Skills: markdown files, listed in the prompt and read with read_skill."
    )
    references: Items[ReferenceEntry] = Field(
        default=(), description="Texts, listed in the prompt and read with read_reference."
    )
    sub_agents: Items[str] = Field(
        default=(), description="Agents this one can give work to, by name or path (task, delegate)."
    )
    planning: Annotated[Planning | None, BeforeValidator(_switched, json_schema_input_type=bool | Planning | None)] = (
        Field(default=None, description="Whether the agent keeps a todo list (write_todos): true, false, or keys.")
    )
    response_guidelines: Items[str] = Field(default=(), description="How to answer; listed after the prompt.")
    constraints: Items[str] = Field(default=(), description="What never to do; listed last.")
    tools: Items[ToolEntry] = Field(default=(), description="Tools of the agent: flows by name, or with options.")
    worker: str | None = Field(
        default=None,
        min_length=1,
        description="Who is asked before each step: FILE.py:FUNCTION, MODULE:FUNCTION or an http(s) URL.",
    )
    worker_secret: str | None = Field(
        default=None, min_length=1, repr=False, description="Signs the requests to a worker at a URL; write ${VAR}."
    )
    hooks: HookKeys = Field(default=HookKeys(), description="Flows called at the points of a turn.")
    context: ContextKeys = Field(default=ContextKeys(), description="Making room before the model's window is full.")
    settings: Settings = Field(default=Settings(), description="How turns run, and their limits.")

    _written = field_validator("worker", "worker_secret", mode="wrap")(as_written)

    @classmethod
    def cross_check(cls, data: Mapping[str, Any], shared: Mapping[str, str]) -> Iterable[Complaint]:
        return agent_complaints(data, shared)
