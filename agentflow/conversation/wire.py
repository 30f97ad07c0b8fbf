"""Messages and other JSON as clients send them: refused with the field's name, made storable, typed.

Every refusal is an `InvalidInput` whose sentence begins with the field's path and whose detail is `{"field": path}`.
Texts are sanitised before they are judged (T43).
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NoReturn, get_args

from agentflow.errors import InvalidInput
from agentflow.media.addresses import addresses
from agentflow.media.files import File, NotAFile, encoded, received
from agentflow.message import Content, Message, Role, ToolCall
from agentflow.text import preview, sanitise

MAX_LEVELS = 64  # of nesting, the input itself being the first (C7)
MAX_ID = 200  # characters
MAX_BITS = 1024  # of an integer, as much as a floating point number reaches; JSON's readers differ beyond
MAX_SHOWN = 40  # characters of what was sent, in a sentence about it

ROLES: tuple[Role, ...] = get_args(Role)
MESSAGE_FIELDS = (
    "id", "role", "content", "tool_calls", "tool_call_id", "name", "error", "hidden", "summary", "copied_from",
)  # fmt: skip
ENGINE_FIELDS = ("hidden", "summary", "copied_from")
_MESSAGE_FIELDS = frozenset(MESSAGE_FIELDS)
_PLAIN_FIELDS = frozenset(MESSAGE_FIELDS[:3])  # all that most messages of a long view have
CALL_FIELDS = ("id", "name", "arguments")
OPENAI_CALL_FIELDS = ("id", "type", "function", "index")
FUNCTION_FIELDS = ("name", "arguments")


def refuse(field: str, what: str) -> NoReturn:
    raise InvalidInput(f"{field}: {what}" if field else what, detail={"field": field})


def inside(outer: str, refused: InvalidInput) -> InvalidInput:
    """The same refusal, seen from the field that holds the refused one."""
    field = refused.detail.get("field")
    path, sentence = (f"{outer}.{field}", f"{outer}.{refused}") if field else (outer, f"{outer}: {refused}")
    return InvalidInput(sentence, detail={"field": path})


def no_unknown(given: Iterable[Any], known: Collection[str], where: str) -> None:
    """Refuse the first field that is not known, naming the one that was probably meant (C7)."""
    for name in given:
        if name not in known:
            meant = difflib.get_close_matches(_snake(str(name)), known, n=1)
            hint = f"did you mean '{meant[0]}'?" if meant else f"known are {', '.join(known)}."
            field = preview(sanitise(str(name)), MAX_SHOWN)
            refuse(f"{where}.{field}" if where else field, f"unknown field; {hint}")


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name[:MAX_SHOWN])


def optional_id(value: Any, field: str) -> str | None:
    """An id of 1 to 200 characters; null and `""` mean none (C3)."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        refuse(field, f"must be a string, not {kind_of(value)}.")
    if len(value) > MAX_ID:
        refuse(field, f"must have at most {MAX_ID} characters, it has {len(value)}.")
    return sanitise(value) or None


def required_id(value: Any, field: str) -> str:
    identifier = optional_id(value, field)
    if identifier is None:
        refuse(field, "is required.")
    return identifier


def optional_bool(value: Any, field: str) -> bool | None:
    if value is not None and value is not True and value is not False:
        refuse(field, f"must be true or false, not {kind_of(value)}.")
    return value


def json_value(value: Any, field: str, level: int) -> Any:
    """The JSON value with its strings sanitised; `level` is its own depth in the input.

    Refused: values JSON does not have, and more than 64 levels of nesting (C7).
    """
    if isinstance(value, str):
        return sanitise(value)
    if value is None or isinstance(value, bool | int):
        return refuse(field, "is too large a number.") if value and value.bit_length() > MAX_BITS else value
    if isinstance(value, float):
        return value if math.isfinite(value) else refuse(field, f"{value} is not a JSON number.")
    if level > MAX_LEVELS:
        refuse(field, f"is nested too deeply; an input may have {MAX_LEVELS} levels.")
    if isinstance(value, Mapping):
        return {_key(key, field): json_value(item, _inside(field, key), level + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item, f"{field}[{index}]", level + 1) for index, item in enumerate(value)]
    refuse(field, f"must be JSON, not {kind_of(value)}.")


def _inside(field: str, key: Any) -> str:
    """The name of a member; a key of millions of characters is not written out for each value below it (Z3)."""
    return f"{field}.{preview(str(key), MAX_SHOWN)}"


def json_object(value: Any, field: str, level: int) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        refuse(field, f"must be an object, not {kind_of(value)}.")
    cleaned: dict[str, Any] = json_value(value, field, level)
    return cleaned


def _key(key: Any, field: str) -> str:
    if not isinstance(key, str):
        refuse(field, f"has {kind_of(key)} as a key; keys must be strings.")
    return sanitise(key)


def kind_of(value: Any) -> str:
    """What a person would call this value in JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    names: tuple[tuple[Any, str], ...] = (
        (str, "a string"),
        (int | float, "a number"),
        (Mapping, "an object"),
        (list | tuple, "a list"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), f"a {type(value).__name__}")


def shown(value: Any) -> str:
    """A value in a sentence: a string as it is, anything else by its kind."""
    return repr(preview(sanitise(value), MAX_SHOWN)) if isinstance(value, str) else kind_of(value)


def messages_of(value: Any, field: str, *, may_be_blank: bool = False) -> tuple[Message, ...]:
    if not isinstance(value, list | tuple):
        refuse(field, f"must be a list of messages, not {kind_of(value)}.")
    messages = []
    for index, item in enumerate(value):
        # Paths are made for what is refused only: a view may have thousands of messages.
        try:
            messages.append(message_of(item, level=3, may_be_blank=may_be_blank))
        except InvalidInput as refused:
            raise inside(f"{field}[{index}]", refused) from None
    return tuple(messages)


def message_of(value: Any, level: int = 2, *, may_be_blank: bool = False) -> Message:
    """One message in wire shape (C1), or a `Message`; without an id it gets `""` here and a minted one later (C3).

    `level` is the message's own depth in the input. The field a refusal names is relative to the message. A user
    message that says nothing is refused, unless it `may_be_blank`.
    """
    if isinstance(value, Message):
        value = _wire_shape(value)
    if not isinstance(value, dict | Mapping):
        refuse("", f"must be an object, not {kind_of(value)}.")
    if not _MESSAGE_FIELDS.issuperset(value):
        no_unknown(value, MESSAGE_FIELDS, "")
    get = value.get
    role = get("role")
    if role not in ROLES:
        refuse("role", f"must be one of {', '.join(ROLES)}, not {shown(role)}.")
    content, files = _content(get("content"), level + 1)
    if role == "user" and not may_be_blank and is_blank(content):
        refuse("content", "a user message needs text or parts.")
    identifier = optional_id(get("id"), "id") or ""
    if role != "tool" and _PLAIN_FIELDS.issuperset(value):
        return Message(identifier, role, content, files=files)
    calls = get("tool_calls")
    return Message(
        identifier,
        role,
        content,
        _calls(calls, role, level + 1) if calls else (),
        _answered(get("tool_call_id"), role),
        _name(get("name")),
        hidden=optional_bool(get("hidden"), "hidden") or False,
        summary=optional_bool(get("summary"), "summary") or False,
        copied_from=optional_id(get("copied_from"), "copied_from"),
        error=_error(get("error"), role),
        files=files,
    )


def refuse_engine_fields(message: Message, where: str) -> None:
    """Refuse a new message that says of itself what only the engine says (Z6)."""
    for name in ENGINE_FIELDS:
        if getattr(message, name):
            refuse(f"{where}.{name}", "only agentflow marks messages so; leave it out of a new message.")


def _wire_shape(message: Message) -> dict[str, Any]:
    calls = message.tool_calls
    if not isinstance(calls, list | tuple) or not all(isinstance(call, ToolCall) for call in calls):
        refuse("tool_calls", "must be a tuple of ToolCall.")
    return message.as_dict()


def is_blank(content: Content) -> bool:
    """Neither text nor any other part: whitespace is no text (C7)."""
    if isinstance(content, list):
        return all(part["type"] == "text" and not part["text"].strip() for part in content)
    return not (content and content.strip())


def _content(value: Any, level: int) -> tuple[Content, tuple[File, ...]]:
    if isinstance(value, str):
        return sanitise(value), ()
    if value is None:
        return None, ()
    if not isinstance(value, list | tuple):
        refuse("content", f"must be text or a list of parts, not {kind_of(value)}.")
    parts = [_part(part, f"content[{index}]", level + 1) for index, part in enumerate(value)]
    return [part for part, _ in parts], tuple(file for _, file in parts if file is not None)


def _part(value: Any, field: str, level: int) -> tuple[dict[str, Any], File | None]:
    """A part as it is recorded; one that brings a file is a reference to it, or a note (W4)."""
    data = value.get("data") if isinstance(value, Mapping) else None
    if isinstance(data, bytes):  # a program gives bytes as they are
        value = {**value, "data": encoded(data)}
    part = json_object(value, field, level)
    kind = part.get("type")
    if not isinstance(kind, str) or not kind:
        refuse(f"{field}.type", "a content part needs a type, such as 'text'.")
    if kind == "text" and not isinstance(part.get("text"), str):
        refuse(f"{field}.text", f"must be a string, not {kind_of(part.get('text'))}.")
    for path, address, is_fit in addresses(part):
        if not is_fit:
            refuse(
                f"{field}.{path}",
                f"must be data: or, in the place of an address, https:, not {shown(address)}; nothing is fetched here.",
            )
    try:
        return received(part)
    except NotAFile as none:
        refuse(field, str(none))


def _answered(value: Any, role: Role) -> str | None:
    if role == "tool":
        return required_id(value, "tool_call_id")
    if value:
        refuse("tool_call_id", f"only a tool message answers a call, this one has the role {role}.")
    return None


def _error(value: Any, role: Role) -> bool:
    is_error = optional_bool(value, "error") or False
    if is_error and role != "tool":
        refuse("error", f"only a tool message is a result that can be an error, this one has the role {role}.")
    return is_error


def _name(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        refuse("name", f"must be a string, not {kind_of(value)}.")
    return sanitise(value) if value else None


def _calls(value: Any, role: Role, level: int) -> tuple[ToolCall, ...]:
    if not isinstance(value, list | tuple):
        refuse("tool_calls", f"must be a list of calls, not {kind_of(value)}.")
    if role != "assistant":
        refuse("tool_calls", f"only an assistant message calls tools, this one has the role {role}.")
    calls = tuple([_call(call, f"tool_calls[{index}]", level + 1) for index, call in enumerate(value)])
    used: set[str] = set()
    for index, call in enumerate(calls):
        if call.id in used:
            refuse(f"tool_calls[{index}].id", f"the call id '{call.id}' is already used in this message.")
        used.add(call.id)
    return calls


def _call(value: Any, field: str, level: int) -> ToolCall:
    """Ours, `{id, name, arguments}`, or OpenAI's, `{id, type, function: {name, arguments}}`."""
    if not isinstance(value, Mapping):
        refuse(field, f"must be an object, not {kind_of(value)}.")
    identifier = required_id(value.get("id"), f"{field}.id")
    if "function" not in value:
        no_unknown(value, CALL_FIELDS, field)
        return ToolCall(identifier, *_function(value, field, level))
    no_unknown(value, OPENAI_CALL_FIELDS, field)
    function, field = value["function"], f"{field}.function"
    if not isinstance(function, Mapping):
        refuse(field, f"must be an object, not {kind_of(function)}.")
    no_unknown(function, FUNCTION_FIELDS, field)
    return ToolCall(identifier, *_function(function, field, level + 1))


def _function(value: Mapping[Any, Any], field: str, level: int) -> tuple[str, str]:
    return (
        required_id(value.get("name"), f"{field}.name"),
        _arguments(value.get("arguments"), f"{field}.arguments", level + 1),
    )


def _arguments(value: Any, field: str, level: int) -> str:
    """The raw text of a call's arguments; what it says is judged when the call is prepared (T13)."""
    if value is None:
        return ""
    if isinstance(value, str):
        return sanitise(value)
    if not isinstance(value, Mapping):
        refuse(field, f"must be a JSON text or an object, not {kind_of(value)}.")
    return json.dumps(json_object(value, field, level), ensure_ascii=False)
