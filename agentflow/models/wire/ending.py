"""What the end of a stream means: a finished reply, or the error of one that is none (T12). Pure."""

from __future__ import annotations

from dataclasses import dataclass

from agentflow.errors import ModelError, ModelErrorKind
from agentflow.models.errors import Facts, classify, codes_in, model_error, provider_words, redact_foreign, sentence
from agentflow.models.protocol import FinishReason
from agentflow.models.wire.answer_body import AnswerBody
from agentflow.models.wire.failures import facts_of
from agentflow.models.wire.finish_reasons import FAILED, finish_kind
from agentflow.models.wire.litellm_wire import ChunkReader
from agentflow.text import preview, sanitise

_SHOWN = 300  # characters of a body that is quoted


@dataclass(frozen=True, slots=True)
class Heard:
    """All that came of one attempt: what the library read, and the body it read it from."""

    model: str
    reader: ChunkReader
    body: AnswerBody


def finish_of(heard: Heard) -> FinishReason | ModelError:
    """How a stream that came to its end finished."""
    reader, body = heard.reader, heard.body
    if not reader.said and body.unread is not None:
        return _error(heard, "bad_reply", body.unread)
    if body.connected and not body.is_binary and not reader.said and (body.finish_word is None or not body.has_events):
        return _no_reply(heard)
    if reader.finish_reason is None or (body.finish_word is None and body.says_its_finish):
        return _error(heard, "cut", "the stream ended before a finish_reason")
    kind = finish_kind(body.finish_word, reader.finish_reason)
    if kind == FAILED:
        return _error(heard, "cut", f"finish reason {body.finish_word or reader.finish_reason}")
    if body.refused:
        kind = "refusal"
    if kind == "refusal" and not reader.has_text:
        kind = "content_filter"
    return FinishReason(kind, body.finish_word or reader.finish_reason)


def refused_by(error: Exception, heard: Heard, *, streaming: bool) -> ModelError:
    """What an exception of the library means; a body that is no stream speaks for itself."""
    body = heard.body
    if body.connected and not heard.reader.said and not body.has_events and body.finish_word is None:
        return _no_reply(heard)
    facts = facts_of(error, streaming=streaming)
    if body.finish_word is not None and finish_kind(body.finish_word, "") == FAILED and classify(facts, "cut") == "cut":
        return _error(heard, "cut", f"finish reason {body.finish_word}: {provider_words(facts.text)}")
    return model_error(heard.model, facts)


def _no_reply(heard: Heard) -> ModelError:
    """The answer was 200 and no reply: an empty body, a page, an error object."""
    begins = heard.body.begins()
    if not begins:
        return _error(heard, "cut", f"status {heard.body.status} with an empty body")
    kind: ModelErrorKind = "cut"
    if begins.startswith(("{", "data: {")):
        kind = classify(Facts(begins, codes=codes_in(begins), streaming=True), otherwise="cut")
        begins = provider_words(begins) if kind != "cut" else begins
    return _error(heard, kind, f"it sent no reply but: {begins}")


def _error(heard: Heard, kind: ModelErrorKind, said: str) -> ModelError:
    """The error with what was received beside it, for the call's row."""
    words = preview(sanitise(redact_foreign(said)), _SHOWN)
    error = ModelError(kind, sentence(heard.model, kind, words), status=heard.body.status or None)
    if heard.body.finish_word is not None:
        error.detail["finish_reason"] = heard.body.finish_word
    if not heard.reader.said and (begins := heard.body.begins()):
        error.detail["body"] = preview(sanitise(redact_foreign(begins)), _SHOWN)
    return error
