"""The one door to OpenTelemetry: spans where the process has set a tracer provider, nothing at all elsewhere.

Whoever wants spans has imported `opentelemetry.trace` to say so; as long as nobody has, nothing is imported here.

A span is open inside one `with` of one coroutine, never over a `yield`; it ends once, whatever ends the coroutine,
and nothing that goes wrong with it reaches the turn (R12).
"""

from __future__ import annotations

import contextvars
import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from agentflow.errors import AgentflowError
from agentflow.secrets.known import without_known
from agentflow.secrets.redacting import redact
from agentflow.telemetry.shapes import Shape

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span, Tracer, TracerProvider

CONTENTS = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ASKED_FOR = ("true", "span_only", "span_and_event")

_log = logging.getLogger("agentflow.telemetry")


class Around(Protocol):
    """A span around the work inside its `with`; an exception that leaves the work is what it failed with."""

    def __enter__(self) -> Around: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...

    def say(self, make: Callable[[], Mapping[str, Any]], *, contents: bool = False) -> None:
        """Set attributes that are known now; `contents` only where they are asked for."""

    def fail(self, kind: str, text: str) -> None:
        """The span's work did not succeed: `kind` is a stable code, `text` is shown where contents are asked for."""

    def traceparent(self) -> str | None:
        """The span's name among all spans (W3C Trace Context), null when there is none."""
        ...


class _NoSpan:
    """Nobody listens."""

    def __enter__(self) -> Around:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def say(self, make: Callable[[], Mapping[str, Any]], *, contents: bool = False) -> None:
        pass

    def fail(self, kind: str, text: str) -> None:
        pass

    def traceparent(self) -> str | None:
        return None


_NO_SPAN = _NoSpan()


def span(make: Callable[[], Shape], *, follows: str | None = None) -> Around:
    """A span around the work inside `with`, below the one that is current; `follows` is the traceparent of one before
    it, which it links to.
    """
    tracer = _tracer()
    return _NO_SPAN if tracer is None else _OpenSpan(tracer, make, follows)


def apart() -> contextvars.Context | None:
    """The context of a task that belongs to no request here: null, for the usual one, where nobody listens."""
    if _tracer() is None:
        return None
    from opentelemetry import context

    variables = contextvars.copy_context()
    variables.run(context.attach, context.Context())
    return variables


def headers() -> dict[str, str]:
    """What a service that is asked has to know to go on with the current span: `traceparent`, `tracestate`.

    No baggage: what a host keeps there is not meant for whoever is asked here.
    """
    carried: dict[str, str] = {}
    if _tracer() is not None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(carried)
    return carried


def _tracer() -> Tracer | None:
    trace = sys.modules.get("opentelemetry.trace")
    providing = getattr(trace, "get_tracer_provider", None)  # null also while another thread is importing it
    if trace is None or providing is None:
        return None
    provider = providing()
    return None if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider) else _tracer_of(provider)


@lru_cache(maxsize=1)
def _tracer_of(provider: TracerProvider) -> Tracer:
    return provider.get_tracer("agentflow")


class _OpenSpan:
    """A span that somebody listens to; null inside as long as it could not be opened."""

    def __init__(self, tracer: Tracer, make: Callable[[], Shape], follows: str | None) -> None:
        self._tracer = tracer
        self._make = make
        self._follows = follows
        self._has_failed = False
        self._span: Span | None = None
        self._token: contextvars.Token[Context] | None = None

    def __enter__(self) -> Around:
        try:
            self._open()
        except Exception:
            _log.warning("a span could not be opened", exc_info=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None and not self._has_failed:
            self.fail(_kind(error), str(error))
        if self._token is not None:
            with suppress(ValueError):  # a coroutine that never finished is closed from another context
                self._token.var.reset(self._token)
        if self._span is not None:
            self._carefully(self._span.end)

    def say(self, make: Callable[[], Mapping[str, Any]], *, contents: bool = False) -> None:
        span = self._span
        if span is not None and span.is_recording() and (not contents or _contents()):
            self._carefully(lambda: span.set_attributes(_plain(make())))

    def fail(self, kind: str, text: str) -> None:
        span, self._has_failed = self._span, True
        if span is None:
            return
        from opentelemetry.trace import Status, StatusCode

        self._carefully(lambda: span.set_attribute("error.type", kind))
        self._carefully(lambda: span.set_status(Status(StatusCode.ERROR, redact(text) if _contents() else None)))

    def traceparent(self) -> str | None:
        if self._span is None:
            return None
        from opentelemetry.trace import set_span_in_context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carried: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carried, set_span_in_context(self._span))
        return carried.get("traceparent")

    def _open(self) -> None:
        from opentelemetry import context
        from opentelemetry.trace import SpanKind, set_span_in_context

        shape = self._make()
        self._span = self._tracer.start_span(
            without_known(shape.name),
            kind=SpanKind.CLIENT if shape.calls_out else SpanKind.INTERNAL,
            attributes=_plain(shape.attributes),
            links=_links(self._follows),
        )
        self._token = context.attach(set_span_in_context(self._span))

    @staticmethod
    def _carefully(work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            _log.warning("a span could not be written", exc_info=True)


def _links(traceparent: str | None) -> list[Link]:
    from opentelemetry.trace import Link, get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    if traceparent is None:
        return []
    before = TraceContextTextMapPropagator().extract({"traceparent": traceparent})
    linked = get_current_span(before).get_span_context()
    return [Link(linked)] if linked.is_valid else []


def _contents() -> bool:
    return os.environ.get(CONTENTS, "").strip().lower() in _ASKED_FOR


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of them, without a secret this process knows (Z4)."""
    return {
        key: without_known(value) if isinstance(value, str) else value
        for key, value in attributes.items()
        if value is not None
    }


def _kind(error: BaseException) -> str:
    """What unwinds a turn is no `Exception`: a cancellation, an interruption, the end of a coroutine never finished."""
    if isinstance(error, AgentflowError):
        return error.code
    return type(error).__name__ if isinstance(error, Exception) else "cancelled"
