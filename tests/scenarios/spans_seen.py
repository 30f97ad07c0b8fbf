"""What scenarios of telemetry share: a tracer provider that keeps its spans, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider


class Seen(SpanProcessor):
    """Every span that began, `open`, and every one that ended, in that order."""

    def __init__(self) -> None:
        self.open: dict[int, str] = {}
        self.ended: list[ReadableSpan] = []
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(self)
        self.tracer = self.provider.get_tracer("test")

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        self.open[span.get_span_context().span_id] = span.name

    def on_end(self, span: ReadableSpan) -> None:
        del self.open[span.get_span_context().span_id]  # fails for one that ends twice
        self.ended.append(span)

    def of(self, name: str) -> ReadableSpan:
        """The only one of this name."""
        (found,) = [span for span in self.ended if span.name == name]
        return found

    def tree(self) -> list[str]:
        """`name < parent`, in the order they began."""
        names = {span.context.span_id: span.name for span in self.ended}
        began = sorted(self.ended, key=lambda span: list(names).index(span.context.span_id))
        return sorted(f"{span.name} < {names.get(span.parent.span_id) if span.parent else None}" for span in began)

    def failures(self) -> dict[str, Any]:
        """Error types by name, of those that did not succeed."""
        return {span.name: span.attributes["error.type"] for span in self.ended if not span.status.is_ok and _said(span)}

    def text(self) -> str:
        """Everything that the spans say."""
        return "\n".join(span.to_json() for span in self.ended)


def _said(span: ReadableSpan) -> bool:
    return "error.type" in (span.attributes or {})


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Seen]:
    """A provider set for this test, whose spans all end, and of which OpenTelemetry has nothing to complain about."""
    spans = Seen()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: spans.provider)
    yield spans
    assert spans.open == {}
    assert [record.getMessage() for record in caplog.records if record.name.startswith("opentelemetry")] == []
