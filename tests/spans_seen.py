"""What scenarios of telemetry share: a tracer provider that keeps its spans, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.trace import StatusCode


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
        """`name < parent`, sorted."""
        names = {span.context.span_id: span.name for span in self.ended}
        return sorted(f"{span.name} < {names.get(span.parent.span_id) if span.parent else None}" for span in self.ended)

    def failures(self) -> dict[str, Any]:
        """Error types by name, of those that did not succeed."""
        failed = [span for span in self.ended if span.status.status_code is StatusCode.ERROR]
        return {span.name: (span.attributes or {})["error.type"] for span in failed}

    def text(self) -> str:
        """Everything that the spans say."""
        return "\n".join(span.to_json() for span in self.ended)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Seen]:
    """A provider set for this test, whose spans all end, and of which OpenTelemetry has nothing to complain about."""
    spans = Seen()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: spans.provider)
    yield spans
    assert spans.open == {}
    assert [record.getMessage() for record in caplog.records if record.name.startswith("opentelemetry")] == []
