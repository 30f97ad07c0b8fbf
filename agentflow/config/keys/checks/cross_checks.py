"""What keys of agent.yaml must be to each other (A2, A4).

The checks read the file's plain data and pass over what has another shape than theirs, so that they complain in the
same breath as the typed classes do, however much else is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentflow.config.document.codes import Code
from agentflow.config.keys.base import Complaint, without_free_keys
from agentflow.config.keys.checks.context_checks import context_complaints
from agentflow.config.keys.checks.extra import refused_extra
from agentflow.config.keys.references import MAIN, REFERENCE, broken_reference
from agentflow.config.keys.templates import template_complaints
from agentflow.conversation.tool_schema import schema_complaint


def agent_complaints(data: Mapping[str, Any], shared: Mapping[str, str]) -> Iterator[Complaint]:
    """Everything that does not fit together; `shared` are the model strings of the project's interfaces."""
    yield from _main_interface(data, shared)
    yield from interface_complaints(data, shared)
    yield from _planner(data, shared)
    yield from context_complaints(data, _interfaces(data, shared))
    yield from _templates(data)
    yield from _tools(data)


def interface_complaints(data: Mapping[str, Any], shared: Mapping[str, str]) -> Iterator[Complaint]:
    """References of interfaces that lead nowhere."""
    own = _models(data)
    for name, interface in _mapping(data, "interfaces").items():
        extra = _mapping_of(interface).get("extra")
        for key in extra if isinstance(extra, dict) else ():
            if reason := refused_extra(key):
                yield Complaint(Code.EXTRA_KEY, reason, ("interfaces", name, "extra", key))
        yield from _fallbacks(data, shared, name)
    for name, model in own.items():
        if reason := broken_reference({**shared, **own}, model, name):
            yield Complaint(Code.INTERFACE, reason, ("interfaces", name, "model"))


def _fallbacks(data: Mapping[str, Any], shared: Mapping[str, str], name: str) -> Iterator[Complaint]:
    """Fallbacks that lead nowhere, to the interface itself or twice to the same model (W5)."""
    interface, known = _mapping_of(_mapping(data, "interfaces")[name]), _interfaces(data, shared)
    seen = {interface.get("model"), f"{REFERENCE}{name}"}
    for index, model in enumerate(_list(interface, "fallback")):
        place = ("interfaces", name, "fallback", index)
        if not isinstance(model, str):
            continue
        if reason := broken_reference(known, model, ""):
            yield Complaint(Code.INTERFACE, reason, place)
        elif model in seen:
            yield Complaint(Code.NAMED_TWICE, f"{model!r} is asked before already; leave it out", place)
        seen.add(model)


def _main_interface(data: Mapping[str, Any], shared: Mapping[str, str]) -> Iterator[Complaint]:
    model, own = data.get("model"), _mapping(data, "interfaces")
    if "model" not in data and MAIN not in {**shared, **own}:
        yield Complaint(Code.MISSING_KEY, "is required: a model string, or interfaces.main", ("model",))
    if not isinstance(model, str):
        return
    if MAIN in own:
        yield Complaint(Code.GIVEN_TWICE, "is given twice, here and as interfaces.main", ("model",))
    elif reason := broken_reference({**shared, **dict.fromkeys(own, ""), **_models(data)}, model, MAIN):
        yield Complaint(Code.INTERFACE, reason, ("model",))


def _planner(data: Mapping[str, Any], shared: Mapping[str, str]) -> Iterator[Complaint]:
    """The planner's interface must be there; the one of `model` is called main."""
    planner = _mapping(data, "planning").get("planner")
    if isinstance(planner, str) and (reason := broken_reference(_interfaces(data, shared), planner, "")):
        yield Complaint(Code.INTERFACE, reason, ("planning", "planner"))


def _interfaces(data: Mapping[str, Any], shared: Mapping[str, str]) -> dict[str, str]:
    """The model strings of all interfaces by name, where they are known."""
    main = {MAIN: ""} if "model" in data else {}
    return {**shared, **dict.fromkeys(_mapping(data, "interfaces"), ""), **main, **_models(data)}


def _templates(data: Mapping[str, Any]) -> Iterator[Complaint]:
    inputs = _mapping(data, "inputs")
    texts: list[tuple[tuple[str | int, ...], Any]] = [(("prompt",), data.get("prompt"))]
    for key in ("response_guidelines", "constraints"):
        texts += [((key, index), item) for index, item in enumerate(_list(data, key))]
    texts += [found for point, entries in _mapping(data, "hooks").items() for found in _hook_texts(point, entries)]
    for path, text in texts:
        for line, message in template_complaints(text, inputs) if isinstance(text, str) else ():
            yield Complaint(Code.TEMPLATE, message, path, line)


def _hook_texts(point: str, entries: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text in the `with:` of the hooks of a point, with its place."""
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        waiting: list[tuple[tuple[str | int, ...], Any]] = [
            (("hooks", point, index, "with"), _mapping_of(entry).get("with"))
        ]
        while waiting:
            path, value = waiting.pop()
            if isinstance(value, str):
                yield path, value
            elif isinstance(value, dict | list):
                items = value.items() if isinstance(value, dict) else enumerate(value)
                waiting += [((*path, key), item) for key, item in items]


def _tools(data: Mapping[str, Any]) -> Iterator[Complaint]:
    first: dict[str, int] = {}
    for index, item in enumerate(_list(data, "tools")):
        entry = {"flow": item} if isinstance(item, str) else _mapping_of(item)
        name = entry.get("name", tool_name(entry.get("flow")))
        if isinstance(name, str) and first.setdefault(name, index) != index:
            yield Complaint(
                Code.NAMED_TWICE, f"the tool {name!r} is named twice, first as tools[{first[name]}]", ("tools", index)
            )
        if isinstance(item, str | dict):
            for key, code, message in _handler(entry):
                yield Complaint(code, message, ("tools", index, *key))
            if entry.get("handler") == "worker" and data.get("worker") is None:
                message = "needs worker: nobody else would do it; name the worker, or leave handler out"
                yield Complaint(Code.TOOL_HANDLER, message, ("tools", index, "handler"))


_OF_FLOWS = ("flow", "timeout_secs", "ends_turn")
_OF_CLIENTS = ("description", "parameters")


def _handler(entry: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Code, str]]:
    """What belongs to a flow and what to the client (C37)."""
    if entry.get("handler") != "client":
        if entry.get("flow") is None:
            yield (
                ("flow",),
                Code.TOOL_HANDLER,
                "is required: the function that does it; or handler: client, with name and description",
            )
        for key in _OF_CLIENTS:
            if key in entry:
                yield (
                    (key,),
                    Code.TOOL_HANDLER,
                    "belongs to a tool with handler: client; a flow's docstring and signature say it",
                )
        return
    for key in ("name", "description"):
        if not entry.get(key):
            yield (key,), Code.TOOL_HANDLER, "is required with handler: client"
    for key in _OF_FLOWS:
        if entry.get(key) is not None:
            yield (key,), Code.TOOL_HANDLER, "has no place with handler: client, which performs the tool itself"
    if isinstance(parameters := entry.get("parameters"), dict) and (reason := schema_complaint(parameters)):
        yield ("parameters",), Code.TOOL_PARAMETERS, reason


def tool_name(flow: Any) -> str | None:
    """What a tool is called when it has no name of its own: the NAME of its flow `FILE:NAME`."""
    return flow.rpartition(":")[2] if isinstance(flow, str) else None


def _models(data: Mapping[str, Any]) -> dict[str, str]:
    given = {name: _mapping_of(each).get("model") for name, each in _mapping(data, "interfaces").items()}
    return {name: model for name, model in given.items() if isinstance(model, str)}


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return _mapping_of(data.get(key))


def _mapping_of(value: Any) -> Mapping[str, Any]:
    return without_free_keys(value) if isinstance(value, dict) else {}


def _list(data: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = data.get(key)
    return value if isinstance(value, list) else ()
