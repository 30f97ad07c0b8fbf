"""A worker's answer, parsed whole into typed values, and a decision as a worker reads it (C31, C33).

The forms below are the one place that knows the fields of each action: the parser reads by them and the docs are
made from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentflow.conversation import wire
from agentflow.conversation.history import checked_wire, replayed_arguments
from agentflow.conversation.questions import check_questions
from agentflow.conversation.state import same_json
from agentflow.errors import AgentflowError, InvalidInput, WorkerFailed
from agentflow.message import Message, ToolCall
from agentflow.text import read_json
from agentflow.turn.decide import table
from agentflow.turn.decide.actions import (
    Action,
    AskUser,
    CallModel,
    CallTool,
    Done,
    Fail,
    GiveError,
    GiveResult,
    ReplaceContext,
)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an action, of `agent` or of the answer: `read(value, path)` checks it and gives its typed value."""

    name: str
    kind: str
    about: str
    read: Callable[[Any, str], Any]
    required: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """An action on the wire; `make` gets the fields that were given, by name."""

    type: str
    about: str
    fields: tuple[Field, ...]
    make: Callable[[Mapping[str, Any]], Action]


@dataclass(frozen=True, slots=True)
class Response:
    """`messages` null: none were given. `took`: messages and actions are those that were proposed."""

    messages: tuple[Message, ...] | None
    actions: tuple[Action, ...]
    state: Any
    agent: dict[str, Any]
    took: bool


def read_response(raw: Any, proposed: Mapping[str, Any]) -> Response:
    """The answer with every field's type checked. Raises `WorkerFailed` naming the field."""
    try:
        return _response(raw, proposed)
    except InvalidInput as refused:
        raise failed(refused) from None


def failed(refused: InvalidInput) -> WorkerFailed:
    """The error of a turn whose worker answered what cannot be done; its detail names the field."""
    return WorkerFailed(f"The worker's answer cannot be used: {refused.message}", detail=refused.detail)


def _response(raw: Any, proposed: Mapping[str, Any]) -> Response:
    if not isinstance(raw, Mapping):
        wire.refuse("response", f"must be an object, not {wire.kind_of(raw)}.")
    given = _fields(raw, ANSWER, "")
    if all(same_json(raw.get(name), proposed.get(name)) for name in ("messages", "actions")):
        return Response(None, (), given.get("state"), given.get("agent", {}), took=True)
    return Response(
        given.get("messages"), given.get("actions", ()), given.get("state"), given.get("agent", {}), took=False
    )


def _fields(value: Mapping[str, Any], known: Sequence[Field], where: str, *also: str) -> dict[str, Any]:
    """The fields that say something, each read; what is null counts as not given."""
    wire.no_unknown(value, (*also, *(field.name for field in known)), where)
    given: dict[str, Any] = {}
    for field in known:
        path = f"{where}.{field.name}" if where else field.name
        if value.get(field.name) is not None:
            given[field.name] = field.read(value[field.name], path)
        elif field.required:
            wire.refuse(path, "is required.")
    return given


# -- readers of one value --------------------------------------------------------------------------------------------


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        wire.refuse(field, f"must be a text, not {wire.kind_of(value)}.")
    text: str = wire.json_value(value, field, 1)
    return text


def _filled(value: Any, field: str) -> str:
    text = _text(value, field)
    return text if text.strip() else wire.refuse(field, "must not be blank.")


def _identifier(value: Any, field: str) -> str:
    return wire.required_id(value, field)


def _flag(value: Any, field: str) -> bool:
    return bool(wire.optional_bool(value, field))


def _object(value: Any, field: str) -> dict[str, Any]:
    return wire.json_object(value, field, 3)


def _json(value: Any, field: str) -> Any:
    return wire.json_value(value, field, 3)


def _texts(value: Any, field: str) -> list[str]:
    if not isinstance(value, list):
        wire.refuse(field, f"must be a list of texts, not {wire.kind_of(value)}.")
    return [_text(item, f"{field}[{index}]") for index, item in enumerate(value)]


def _list(value: Any, field: str) -> list[Any]:
    if not isinstance(value, list):
        wire.refuse(field, f"must be a list, not {wire.kind_of(value)}.")
    cleaned: list[Any] = wire.json_value(value, field, 2)
    return cleaned


def _interface(value: Any, field: str) -> str:
    return _filled(value, field).removeprefix("llm://")


def _purpose(value: Any, field: str) -> str:
    purpose = _text(value, field)
    return purpose if purpose in _PURPOSES else wire.refuse(field, f"must be main or summary, not {purpose!r}.")


def _verbatim(value: Any, field: str) -> tuple[dict[str, Any], ...]:
    """Messages that are sent as they are, so a provider must be able to take them (T7)."""
    messages = _list(value, field)
    try:
        return tuple(checked_wire(messages))
    except InvalidInput as refused:
        wire.refuse(field, f"cannot be sent: {refused.message}.")
    except (LookupError, TypeError, AttributeError) as error:
        wire.refuse(field, f"cannot be sent: {type(error).__name__}: {error}")


def _questions(value: Any, field: str) -> tuple[dict[str, Any], ...]:
    questions = _list(value, field)
    checked = check_questions({"questions": questions})
    if isinstance(checked, str):
        wire.refuse(field, f"cannot be asked: {checked}.")
    return tuple(question.as_dict() for question in checked)


def _messages(value: Any, field: str) -> tuple[Message, ...]:
    return wire.messages_of(value, field)


def _failure(value: Any, field: str) -> AgentflowError:
    if isinstance(value, str):
        return WorkerFailed(_filled(value, field))
    said = _fields(_object(value, field), _FAILURE, field)
    return WorkerFailed(said["message"], detail={"code": said["code"]} if "code" in said else {})


def _error(value: Any, field: str) -> str:
    if isinstance(value, str):
        return _filled(value, field)
    text: str = _fields(_object(value, field), _FAILURE[:1], field)["message"]
    return text


def _actions(value: Any, field: str) -> tuple[Action, ...]:
    if not isinstance(value, list):
        wire.refuse(field, f"must be a list, not {wire.kind_of(value)}.")
    return tuple(_action(item, f"{field}[{index}]") for index, item in enumerate(value))


def _action(value: Any, field: str) -> Action:
    if not isinstance(value, Mapping):
        wire.refuse(field, f"must be an object, not {wire.kind_of(value)}.")
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in FORMS:
        wire.refuse(f"{field}.type", f"must be one of {', '.join(FORMS)}, not {wire.shown(kind)}.")
    given = _fields(value, FORMS[kind].fields, field, "type")
    try:
        return FORMS[kind].make(given)
    except InvalidInput as refused:
        raise wire.inside(field, refused) from None


# -- the forms -------------------------------------------------------------------------------------------------------

_PURPOSES = ("main", "summary")

_FAILURE = (
    Field("message", "text", "A sentence for a person.", _filled, required=True),
    Field("code", "text", "A word for a program; it stands in the error's `detail`.", _filled),
)


def _call_model(given: Mapping[str, Any]) -> CallModel:
    named = {given[name] for name in ("llm", "interface") if name in given}
    if len(named) > 1:
        wire.refuse("interface", "is another one than llm; they mean the same.")
    if "prompt" in given and "messages" in given:
        wire.refuse("prompt", "cannot go with messages, which are sent as they are.")
    if given.get("template") and "prompt" not in given:
        wire.refuse("template", "says how a prompt is read, and there is none.")
    rest = {name: value for name, value in given.items() if name not in ("llm", "interface")}
    return CallModel(interface=next(iter(named), None), **rest)


FORMS: Mapping[str, Form] = {
    form.type: form
    for form in (
        Form(
            table.LLM_CALL,
            "Call the model. What is not given comes from the configuration, or from the held call.",
            (
                Field("id", "text", "The held call's id, where one is held.", _identifier),
                Field("purpose", "text", "`main` (default), or `summary` where one is proposed.", _purpose),
                Field("llm", "text", "An interface of the agent.", _interface),
                Field("interface", "text", "The same as `llm`.", _interface),
                Field("model", "text", "Another model string for that interface.", _filled),
                Field("prompt", "text", "In place of `prompt` of the configuration, as it is.", _text),
                Field("template", "boolean", "Read that prompt as a template.", _flag),
                Field("messages", "list", "Sent verbatim, without a system prompt.", _verbatim),
                Field("stream", "boolean", "Whether the text is streamed; a summary's is not unless said.", _flag),
            ),
            _call_model,
        ),
        Form(
            table.TOOL_CALL,
            "Run a tool: a call of the reply by its `id`, or a call of the worker's own by its `name`.",
            (
                Field("id", "text", "A call of the reply; or an id for one of the worker's own.", _identifier),
                Field("name", "text", "The tool; for a call of the reply its own.", _filled),
                Field("input", "object", "Its arguments; for a call of the reply: other ones.", _object),
            ),
            lambda given: CallTool(**given),
        ),
        Form(
            table.TOOL_RESULT,
            "Give a call its result instead of running it.",
            (
                Field("id", "text", "The call.", _identifier, required=True),
                Field("result", "any JSON", "A text as it is, anything else as JSON.", _json),
            ),
            lambda given: GiveResult(**given),
        ),
        Form(
            table.TOOL_ERROR,
            "Give a call an error result instead of running it.",
            (
                Field("id", "text", "The call.", _identifier, required=True),
                Field("error", "text or {message}", "What the model reads.", _error, required=True),
            ),
            lambda given: GiveError(**given),
        ),
        Form(
            table.ASK_USER,
            "Ask the user, which pauses the turn.",
            (
                Field("questions", "list", "1 to 4, as for the tool `ask_user`.", _questions, required=True),
                Field("id", "text", "An id for the call that asks.", _identifier),
            ),
            lambda given: AskUser(**given),
        ),
        Form(
            table.REPLACE,
            "Go on with another history, on a new branch at the root.",
            (
                Field("summary", "text", "Stands first, as a user message that says what it is.", _text),
                Field("messages", "list", "What follows it; recorded ids become copies.", _messages),
            ),
            lambda given: ReplaceContext(**given),
        ),
        Form(
            table.DONE,
            "End the turn.",
            (Field("data", "any JSON", "Goes into the turn's result, its events and its trace.", _json),),
            lambda given: Done(**given),
        ),
        Form(
            table.FAIL,
            "Fail the turn, with the code `worker_failed`.",
            (Field("error", "text or {message, code}", "What went wrong.", _failure, required=True),),
            lambda given: Fail(**given),
        ),
    )
}

AGENT: tuple[Field, ...] = (
    Field("prompt", "text", "Another prompt, as it is.", _text),
    Field("template", "boolean", "Read the texts given with it as templates.", _flag),
    Field("response_guidelines", "list of texts", "In place of the file's.", _texts),
    Field("constraints", "list of texts", "In place of the file's.", _texts),
    Field("settings", "object", "Keys of `settings`; the others stay.", _object),
    Field("model", "text", "The interface that turns run with.", _interface),
    Field(
        "tools",
        "list",
        "Which of the file's tools are offered, each a name or `{name, timeout_secs?, max_result_chars?, ends_turn?, "
        "handler?}`.",
        _list,
    ),
)

ANSWER: tuple[Field, ...] = (
    Field("messages", "list", "The conversation as it is to be, merged as a client's view.", _messages),
    Field("actions", "list", "What is done then, in order.", _actions),
    Field("state", "any JSON", "The agent's state from here on; `{}` clears it.", _json),
    Field("agent", "object", "Changes of the configuration, from here on.", _object),
)


# -- a decision as a worker reads it ---------------------------------------------------------------------------------


def shown_action(action: Action, reply: Sequence[ToolCall] = ()) -> dict[str, Any]:
    """An action of a proposal on the wire; `reply` are the calls it may speak of."""
    match action:
        case CallTool():
            call = next((call for call in reply if call.id == action.id), None)
            said = action.input if call is None or action.input is not None else input_of(call)
            return _shown(table.TOOL_CALL, id=action.id, name=action.name or (call.name if call else None), input=said)
        case GiveResult():
            return {"type": table.TOOL_RESULT, "id": action.id, "result": action.result}
        case GiveError():
            return {"type": table.TOOL_ERROR, "id": action.id, "error": action.error}
        case AskUser():
            return _shown(table.ASK_USER, id=action.id, questions=list(action.questions))
        case ReplaceContext():
            messages = [message.as_dict() for message in action.messages]
            return _shown(table.REPLACE, messages=messages, summary=action.summary)
        case Done():
            return _shown(table.DONE, data=action.data)
        case Fail():
            return {"type": table.FAIL, "error": {"code": action.error.code, "message": action.error.message}}
        case CallModel():
            return _shown(
                table.LLM_CALL, id=action.id, purpose=None if action.purpose == "main" else action.purpose,
                stream=action.stream, prompt=action.prompt, llm=action.interface, model=action.model,
            )  # fmt: skip


def _shown(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **{name: value for name, value in fields.items() if value is not None}}


def input_of(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call as they are told; what cannot be parsed is told as none (T13)."""
    parsed: dict[str, Any] = read_json(replayed_arguments(call))
    return parsed
