"""What authors who come from elsewhere write, and what to write here: one table, each row tested (A2).

A row is `(where, shape, advice)`. `where` is a dotted path from the top of the file, `*` for a name or a place in a
list; its last word also fits in camel case or with dashes. `shape` says which values the row is about. What the advice
has in backticks is YAML that is valid here, at the top of the file or in place of what stands there, with the author's
own `{value}`, `{key}` or `{names}` filled in, or the word after `|` where those cannot be shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentflow.config.document.problems import Path
from agentflow.config.document.scalars import read_scalar

Spelling = tuple[str, str, str]

_YES, _NO = ("yes", "on", "y", "enabled"), ("no", "off", "n", "disabled")
_SHAPES: dict[str, Callable[[Any], bool]] = {
    "any": lambda value: True,
    "keys": lambda value: isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "text": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "yes": lambda value: isinstance(value, str) and value.lower() in _YES,
    "no": lambda value: isinstance(value, str) and value.lower() in _NO,
    "llm": lambda value: isinstance(value, str) and value.startswith("llm://"),
}
"""A shape that is none of these is a list of texts, `int|long`."""

_LATER = "is not part of this version; leave it out"
_MAIN = "in place of model write `interfaces: {main: {model: openai/gpt-4o, "
_FLOWS = "tools are flows, functions of workflows/*.py, by name: `tools: [query]`"
_HOOKS = "hooks are flows, functions of workflows/*.py, by name: `hooks: {step_start: [load_customer]}`"
_ONE_AGENT = "one file describes one agent; give each its own agents/NAME/agent.yaml and name it here: "
_LIMIT = "`settings: {max_iterations: {value|20}}`"
_EXTRA = "write `extra: {{key}: {value|1}}`: the provider's own parameters stand there"

INTERFACES: tuple[Spelling, ...] = (
    ("interfaces", "list", "give each a name: `interfaces: {fast: {model: openai/gpt-4o}}`"),
    ("interfaces.*", "text", "write `{key}: {model: {value|openai/gpt-4o}}`"),
    ("interfaces.*.max_tokens", "any", "write `max_output_tokens: {value|4000}`"),
    ("interfaces.*.max_completion_tokens", "any", "write `max_output_tokens: {value|4000}`"),
    ("interfaces.*.base_url", "any", "write `api_base: {value|https://example.com/v1}`"),
    ("interfaces.*.url", "any", "write `api_base: {value|https://example.com/v1}`"),
    ("interfaces.*.endpoint", "any", "write `api_base: {value|https://example.com/v1}`"),
    ("interfaces.*.token_key", "any", "write `api_key: ${OPENAI_API_KEY}`, with the name of the variable"),
    ("interfaces.*.token", "any", "write `api_key: ${OPENAI_API_KEY}`, with the name of the variable"),
    ("interfaces.*.provider", "any", "it begins the model string: `model: {value|openai}/gpt-4o`"),
    ("interfaces.*.llm", "any", "write `model: {value|openai/gpt-4o}`"),
    ("interfaces.*.provider_opts", "any", "write `extra: {top_k: 40}`: the provider's own parameters stand there"),
    ("interfaces.*.extra_body", "any", "write `extra: {top_k: 40}`: the provider's own parameters stand there"),
    ("interfaces.*.model_settings", "any", "write its keys beside model: `temperature: 0`"),
    ("interfaces.*.settings", "any", "write its keys beside model: `temperature: 0`"),
    ("interfaces.*.thinking_budget", "any", "write `reasoning_effort: high`: none, low, medium or high"),
    ("interfaces.*.thinking", "any", "write `reasoning_effort: high`: none, low, medium or high"),
    ("interfaces.*.effort", "any", "write `reasoning_effort: {value|high}`"),
    ("interfaces.*.timeout", "any", "write `timeout_secs: {value|60}`, in seconds"),
    ("interfaces.*.request_timeout", "any", "write `timeout_secs: {value|60}`, in seconds"),
    ("interfaces.*.headers", "any", "write `extra: {extra_headers: {X-Team: support}}`"),
    ("interfaces.*.extra_headers", "any", "write `extra: {extra_headers: {X-Team: support}}`"),
    ("interfaces.*.frequency_penalty", "any", _EXTRA),
    ("interfaces.*.presence_penalty", "any", _EXTRA),
    ("interfaces.*.seed", "any", _EXTRA),
    ("interfaces.*.top_k", "any", _EXTRA),
    ("interfaces.*.stop", "any", _EXTRA),
    ("interfaces.*.parallel_tool_calls", "any", _EXTRA),
    ("interfaces.*.fallback", "text", "write a list: `fallback: [{value|openai/gpt-4o-mini}]`"),
    ("interfaces.*.fallbacks", "any", "write `fallback: [openai/gpt-4o-mini]`: the models asked when this one fails"),
    ("interfaces.*.cool_down", "any", "write `cool_down_secs: {value|60}`, in seconds"),
    ("interfaces.*.caching", "any", "write `cache: auto`, or `cache: off`"),
    ("interfaces.*.cache_control", "any", "write `cache: auto`, or `cache: off`"),
)

PROJECT: tuple[Spelling, ...] = (
    *INTERFACES,
    ("models", "any", "write `interfaces: {fast: {model: openai/gpt-4o}}`"),
    ("llms", "any", "write `interfaces: {fast: {model: openai/gpt-4o}}`"),
    ("model", "any", "write `interfaces: {main: {model: {value|openai/gpt-4o}}}`, which every agent then has"),
    ("database", "any", "write `db: sqlite:///sessions.db`"),
    ("database_url", "any", "write `db: sqlite:///sessions.db`"),
    ("retention", "any", "write `retention_days: 30`"),
    ("agents", "any", "agents are found in agents/NAME/agent.yaml; leave it out"),
    ("engine", "any", _LATER),
    ("api_keys", "any", _LATER),
    ("mcp", "any", _LATER),
    ("roles", "any", _LATER),
)

_TOP: tuple[Spelling, ...] = (
    ("instructions", "any", "write `prompt: {value|Help the customer.}`"),
    ("instruction", "any", "write `prompt: {value|Help the customer.}`"),
    ("system_prompt", "any", "write `prompt: {value|Help the customer.}`"),
    ("system", "any", "write `prompt: {value|Help the customer.}`"),
    ("prompt", "list", "write it as one text: `prompt: Help the customer.`"),
    ("guidelines", "any", "write `response_guidelines: [Answer briefly.]`"),
    ("rules", "any", "write `constraints: [Never promise a refund.]`"),
    ("llm", "any", "write `model: {value|openai/gpt-4o}`"),
    ("interface", "any", "write `model: {value|openai/gpt-4o}`"),
    ("model", "keys", "write `interfaces: {main: {model: openai/gpt-4o, temperature: 0}}` instead"),
    ("model", "list", "give one: `model: openai/gpt-4o`"),
    ("models", "any", "write `interfaces: {fast: {model: openai/gpt-4o}}`"),
    ("providers", "any", "write `interfaces: {fast: {model: openai/gpt-4o, api_base: https://example.com/v1}}`"),
    ("provider", "any", "it begins the model string: `model: {value|openai}/gpt-4o`"),
    ("model_settings", "any", _MAIN + "temperature: 0}}`"),
    ("temperature", "any", _MAIN + "temperature: {value|0}}}`"),
    ("top_p", "any", _MAIN + "top_p: {value|1}}}`"),
    ("max_tokens", "any", _MAIN + "max_output_tokens: {value|4000}}}`"),
    ("api_key", "any", _MAIN + "api_key: '${OPENAI_API_KEY}'}}`"),
    ("api_base", "any", _MAIN + "api_base: {value|https://example.com/v1}}}`"),
    ("base_url", "any", _MAIN + "api_base: {value|https://example.com/v1}}}`"),
    ("reasoning_effort", "any", _MAIN + "reasoning_effort: {value|high}}}`"),
    ("effort", "any", _MAIN + "reasoning_effort: {value|high}}}`"),
    ("thinking", "any", _MAIN + "reasoning_effort: high}}`"),
    ("thinking_budget", "any", _MAIN + "reasoning_effort: high}}`"),
    ("fallback", "any", "write `interfaces: {main: {model: ..., fallback: [openai/gpt-4o]}}`"),
    ("output", "any", _LATER + ", and say in the prompt what form the answer has"),
    ("output_type", "any", _LATER + ", and say in the prompt what form the answer has"),
    ("output_schema", "any", _LATER + ", and say in the prompt what form the answer has"),
    ("structured_output", "any", _LATER + ", and say in the prompt what form the answer has"),
    ("response_format", "any", _LATER + ", and say in the prompt what form the answer has"),
    ("agents", "any", _ONE_AGENT + "`sub_agents: [researcher]`"),
    ("agent", "any", "one file describes one agent: write its keys at the top level, beside `name: {value|bot}`"),
    ("handoffs", "any", "write `sub_agents: [researcher]`; its tool delegate hands a turn over"),
    ("toolsets", "any", _FLOWS),
    ("capabilities", "any", _FLOWS),
    ("functions", "any", _FLOWS),
    ("builtin_tools", "any", _FLOWS),
    ("flows", "any", _FLOWS),
    ("mcp", "any", "servers of MCP are not part of this version; " + _FLOWS),
    ("mcps", "any", "servers of MCP are not part of this version; " + _FLOWS),
    ("mcp_servers", "any", "servers of MCP are not part of this version; " + _FLOWS),
    ("disallowed_tools", "any", "leave it out: only what `tools: [query]` lists is offered"),
    ("permissions", "any", "leave it out; a flow can deny calls: `hooks: {pre_tool: [check]}`"),
    ("permission_mode", "any", "leave it out; a flow can deny calls: `hooks: {pre_tool: [check]}`"),
    ("approve", "any", _LATER + "; a flow can deny calls: `hooks: {pre_tool: [check]}`"),
    ("max_turns", "any", "write " + _LIMIT),
    ("max_steps", "any", "write " + _LIMIT),
    ("max_iterations", "any", "write " + _LIMIT),
    ("max_consecutive_tool_calls", "any", "write `settings: {max_repeated_calls: {value|5}}`"),
    ("limits", "any", "limits stand under settings: `settings: {max_iterations: 20}`"),
    ("usage_limits", "any", "limits stand under settings: `settings: {max_iterations: 20, max_input_tokens: 90000}`"),
    ("timeout", "any", "write `settings: {turn_timeout_secs: {value|600}}`, in seconds"),
    ("retries", "any", "write `settings: {llm_retries: {value|3}}`"),
    ("max_retries", "any", "write `settings: {llm_retries: {value|3}}`"),
    ("tool_timeout", "any", "write `settings: {tool_timeout_secs: {value|60}}`, in seconds"),
    ("logging", "any", "write `settings: {logging_level: debug}`"),
    ("log_level", "any", "write `settings: {logging_level: debug}`"),
    ("name_chats", "any", "write `settings: {name_chats: false}`"),
    ("memory", "any", "flows keep memory: `tools: [SaveAgentMemory, GetRecentMemories]`"),
    ("history_processors", "any", "write `context: {window: 200000, strategy: [{use: summarize}]}`"),
    ("num_history_items", "any", "write `settings: {lean_history: true}`, and context for long conversations"),
    ("compaction", "any", "write `context: {window: 200000, strategy: [{use: summarize}]}`"),
    ("deps_schema", "any", "write `inputs: {customer: {type: string}}`"),
    ("deps_type", "any", "write `inputs: {customer: {type: string}}`"),
    ("arguments", "any", "write `inputs: {customer: {type: string}}`"),
    ("variables", "any", "write `inputs: {customer: {type: string}}`, or fill in ${NAME} from the environment"),
    ("env", "any", "leave it out: a text may hold ${NAME} of the environment"),
    ("rag", "any", "write `references: [{name: prices, file: prices.md}]`, or search in a flow under tools"),
    ("knowledge", "any", "write `references: [{name: prices, file: prices.md}]`"),
    ("add_prompt_files", "any", "write `references: [{name: prices, file: prices.md}]`"),
    ("add_date", "any", "the prompt may name it: `prompt: 'Today is {{ today }}.'`"),
    ("planner", "llm", "write `planning: {planner: {value|llm://main}}`"),
    ("planner", "any", "write `planning: {planner: llm://{value|main}}`"),
    ("todo", "any", "write `planning: true`"),
    ("todos", "any", "write `planning: true`"),
    ("metadata", "any", "what is yours alone starts with x-: `x-metadata: {author: Ann}`"),
    ("author", "any", "what is yours alone starts with x-: `x-author: {value|Ann}`"),
    ("color", "any", "what is yours alone starts with x-: `x-color: {value|green}`"),
    ("welcome_message", "any", "what is yours alone starts with x-: `x-welcome: Hello`"),
    ("commands", "any", "what is yours alone starts with x-: `x-commands: {}`"),
    ("background", "any", "leave it out"),
    ("isolation", "any", "leave it out"),
    ("end_strategy", "any", "a tool can end the turn: `tools: [{flow: query, ends_turn: true}]`"),
    ("version", "any", "leave it out, or write `version: 1`"),
)

_PARTS: tuple[Spelling, ...] = (
    ("interfaces.*.retries", "any", "retries are a setting of the agent: `settings: {llm_retries: {value|3}}`"),
    ("interfaces.*.max_retries", "any", "retries are a setting of the agent: `settings: {llm_retries: {value|3}}`"),
    ("planning", "yes", "write `planning: true`"),
    ("planning", "no", "write `planning: false`"),
    ("planning", "llm", "write `planning: {planner: {value|llm://main}}`"),
    ("planning", "any", "write `planning: true`"),
    ("planning.enabled", "bool", "write `planning: {value|true}` alone"),
    ("planning.enabled", "no", "write `planning: false` alone"),
    ("planning.enabled", "any", "write `planning: true` alone"),
    ("planning.planner", "text", "write `planner: llm://{value|main}`"),
    ("planning.planner", "any", "write `planner: llm://main`"),
    ("planning.model", "any", "name an interface: `planner: llm://main`"),
    ("planning.interface", "llm", "write `planner: {value|llm://main}`"),
    ("planning.interface", "any", "write `planner: llm://{value|main}`"),
    ("planning.llm", "llm", "write `planner: {value|llm://main}`"),
    ("planning.llm", "any", "write `planner: llm://{value|main}`"),
    ("sub_agents", "keys", _ONE_AGENT + "`sub_agents: [{names|researcher}]`"),
    ("sub_agents.*", "keys", _ONE_AGENT + "`sub_agents: [{name|researcher}]`"),
    ("tools", "keys", "write a list: `tools: [{names|query}]`"),
    ("tools.*.type", "any", _FLOWS),
    ("tools.*.function", "text", "write `flow: {value|query}`"),
    ("tools.*.function", "any", _FLOWS),
    ("tools.*.ref", "any", _FLOWS),
    ("tools.*.command", "any", _FLOWS),
    ("tools.*.timeout", "any", "write `timeout_secs: {value|20}`, in seconds"),
    ("tools.*.schema", "any", "a flow's signature says it; a tool of the client has `parameters: {type: object}`"),
    (
        "tools.*.input_schema",
        "any",
        "a flow's signature says it; a tool of the client has `parameters: {type: object}`",
    ),
    ("tools.*.approve", "any", _LATER + "; a flow can deny calls: `hooks: {pre_tool: [check]}`"),
    ("tools.*.requires_approval", "any", _LATER + "; a flow can deny calls: `hooks: {pre_tool: [check]}`"),
    ("tools.*.replay", "any", _LATER),
    ("tools.*.enabled", "any", "leave out the tool that is not to be offered"),
    ("hooks", "list", _HOOKS),
    ("hooks.pre_tool_use", "any", "write `pre_tool: [check]`, the name of a flow"),
    ("hooks.post_tool_use", "any", "write `post_tool: [check]`, the name of a flow"),
    ("hooks.before_model_call", "any", "write `pre_model: [check]`, the name of a flow"),
    ("hooks.after_model_call", "any", "write `post_model: [check]`, the name of a flow"),
    ("hooks.before_llm_call", "any", "write `pre_model: [check]`, the name of a flow"),
    ("hooks.after_llm_call", "any", "write `post_model: [check]`, the name of a flow"),
    ("hooks.session_start", "any", "write `step_start: [load_customer]`, which runs in every step"),
    ("hooks.turn_start", "any", "write `step_start: [load_customer]`, which runs in every step"),
    ("hooks.user_prompt_submit", "any", "write `step_start: [load_customer]`, which runs in every step"),
    ("hooks.stop", "any", "write `step_end: [check_answer]`"),
    ("hooks.session_end", "any", "write `step_end: [check_answer]`, which runs in every step"),
    ("hooks.turn_end", "any", "write `step_end: [check_answer]`"),
    ("hooks.*.*.command", "any", _HOOKS),
    ("hooks.*.*.matcher", "any", "leave it out: the flow is given the name of the tool"),
    ("hooks.*.*.type", "any", _HOOKS),
    ("hooks.*.*.hooks", "any", _HOOKS),
    ("hooks.*.*.timeout", "any", "write `timeout_secs: {value|10}`, in seconds"),
    ("hooks.*.*.with", "any", _LATER),
    ("inputs", "list", "write each with its type: `inputs: {customer: {type: string}}`"),
    ("inputs.*", "text", "write `{key}: {type: string}`"),
    ("inputs.*.type", "str|text", "write `type: string`"),
    ("inputs.*.type", "int", "write `type: integer`"),
    ("inputs.*.type", "float|double", "write `type: number`"),
    ("inputs.*.type", "bool", "write `type: boolean`"),
    ("inputs.*.type", "list|tuple", "write `type: array`"),
    ("inputs.*.type", "dict|map", "write `type: object`"),
    ("inputs.*.optional", "any", "write `required: false`, or leave it out"),
    ("inputs.*.values", "any", "write `enum: [low, high]`"),
    ("skills", "bool", "list the files: `skills: [skills/refunds.md]`"),
    ("skills.*.path", "any", "write `file: {value|skills/refunds.md}`"),
    ("skills.*.name", "any", "leave it out: name and description stand in the file; `file: skills/refunds.md`"),
    ("references", "keys", "write a list: `references: [{name: prices, file: prices.md}]`"),
    ("references.*", "text", "write `references: [{name: prices, file: {value|prices.md}}]`"),
    ("references.*.path", "any", "write `file: {value|prices.md}`"),
    ("worker", "keys", "write `worker: https://example.com/decide`, with worker_secret beside it"),
    ("context.max_tokens", "any", "write `window: {value|200000}`"),
    ("context.strategies", "any", "write `strategy: [{use: summarize}]`"),
    ("context.strategy", "keys", "write a list: `strategy: [{use: summarize}]`"),
    ("context.strategy", "text", "write a list: `strategy: [{use: {value|summarize}}]`"),
    ("context.strategy.*", "text", "write `context: {strategy: [{use: {value|summarize}}]}`"),
    ("context.strategy.*.type", "any", "write `use: summarize`, or reset"),
    ("context.strategy.*.use", "compact|summary|summarise", "write `use: summarize`"),
    ("context.strategy.*.use", "clear|trim|drop", "write `context: {strategy: [{use: reset, idle_secs: 3600}]}`"),
    ("context.strategy.*.threshold", "any", "write `over_tokens: 100000`"),
    ("settings.limits", "any", "limits stand directly under settings: `settings: {max_iterations: 20}`"),
    ("settings.recovery", "any", _LATER),
    ("settings.max_resumes", "any", _LATER),
    ("settings.on_config_change", "any", _LATER),
    ("settings.approve", "any", _LATER + "; a flow can deny calls: `hooks: {pre_tool: [check]}`"),
    ("settings.max_turns", "any", "write `max_iterations: {value|20}`"),
    ("settings.max_steps", "any", "write `max_iterations: {value|20}`"),
    ("settings.request_limit", "any", "write `max_iterations: {value|20}`"),
    ("settings.tool_calls_limit", "any", "write `max_tool_calls: {value|100}`"),
    ("settings.input_tokens_limit", "any", "write `max_input_tokens: {value|90000}`"),
    ("settings.output_tokens_limit", "any", "write `max_output_tokens: {value|4000}`"),
    ("settings.max_tokens", "any", "of one reply " + _MAIN + "max_output_tokens: {value|4000}}}`"),
    ("settings.max_budget", "any", "write `max_cost: {value|0.5}`, in US dollars"),
    ("settings.timeout", "any", "write `turn_timeout_secs: {value|600}`, in seconds"),
    ("settings.timeout_secs", "any", "write `turn_timeout_secs: {value|600}`"),
    ("settings.retries", "any", "write `llm_retries: {value|3}`"),
    ("settings.max_retries", "any", "write `llm_retries: {value|3}`"),
    ("settings.log_level", "any", "write `logging_level: debug`"),
    ("settings.logging_level", "warning", "write `logging_level: warn`"),
    ("settings.logging_level", "error|critical", "write `logging_level: warn`, or off"),
    ("settings.temperature", "any", _MAIN + "temperature: {value|0}}}`"),
    ("settings.model", "any", "write it at the top level: `model: {value|openai/gpt-4o}`"),
    ("settings.planning", "any", "write it at the top level: `planning: true`"),
    ("settings.compaction", "any", "write `context: {window: 200000, strategy: [{use: summarize}]}`"),
)

AGENT: tuple[Spelling, ...] = (*INTERFACES, *_TOP, *_PARTS)

_BLANK = re.compile(r"\{(value|key|names|name)(?:\|([^{}]*))?\}")
_READABLE = 1000
_OTHER_WORD = re.compile(r"write `(\w+): (?:\{value(?:\|[^{}]*)?\}|(\w+))`")
_OF_ANY_WORD = ("any", "keys", "list", "text", "bool")  # shapes of values that say nothing about what is meant
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def advice(spellings: Sequence[Spelling], path: Path, value: Any, written: str | None) -> str | None:
    """What to write in place of the value at `path`; `written` is it as it may be shown, if it may."""
    if not path:
        return None
    key = str(path[-1])
    row = _row(spellings, path, value)
    return None if row is None else _filled(row[2], key, value, written)


def certain(spellings: Sequence[Spelling], path: Path, value: Any) -> tuple[str, str | None] | None:
    """The key to write in place of the one at `path`, and the value in place of `value`, null where that stays.

    Null where the advice is an example, or says more than another word for the same.
    """
    row = _row(spellings, path, value)
    written = None if row is None else _OTHER_WORD.fullmatch(row[2])
    if row is None or written is None or (written[2] and row[1] in _OF_ANY_WORD):
        return None
    return written[1], written[2]


def _row(spellings: Sequence[Spelling], path: Path, value: Any) -> Spelling | None:
    """The first row about the value at `path`."""
    steps = [*map(str, path[:-1]), _HUMP.sub("_", str(path[-1])).replace("-", "_").lower()]
    return next((row for row in spellings if _fits(row[0].split("."), steps) and _has_shape(row[1], value)), None)


def words(spellings: Sequence[Spelling], path: Path) -> list[str]:
    """The last words of the rows about keys of the mapping that is at `path`."""
    above = [str(step) for step in path]
    rows = [where.split(".") for where, _, _ in spellings]
    return [row[-1] for row in rows if row[-1] != "*" and _fits(row[:-1], above)]


def _fits(where: Sequence[str], steps: Sequence[str]) -> bool:
    return len(where) == len(steps) and all(part in ("*", step) for part, step in zip(where, steps, strict=True))


def _has_shape(shape: str, value: Any) -> bool:
    test = _SHAPES.get(shape)
    return test(value) if test else isinstance(value, str) and value.lower() in shape.split("|")


def _filled(said: str, key: str, value: Any, written: str | None) -> str:
    keys = value if isinstance(value, Mapping) else {}
    own = {"key": key, "value": written, "names": ", ".join(map(str, keys)), "name": keys.get("name")}

    def word(blank: re.Match[str]) -> str:
        known, otherwise = own[blank[1]], blank[2]
        return otherwise if known is None or (otherwise and not _alike(str(known), otherwise)) else str(known)

    return _BLANK.sub(word, said)


def _alike(written: str, otherwise: str) -> bool:
    """Whether both are texts to YAML, or both are numbers."""
    kinds = [type(read_scalar(text)) for text in (written, otherwise) if len(text) < _READABLE]
    return len({float if kind is int else kind for kind in kinds}) == 1
