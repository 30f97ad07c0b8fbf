"""What providers say when they refuse, as one table: the kind decides what happens next (T16, X16).

A provider's failure is reduced to `Facts`; the first row that fits gives the kind. Look-alikes stand above what they
resemble: a rate limit counted in tokens and an output limit are not an overflow of the context.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from agentflow.errors import ModelError, ModelErrorKind
from agentflow.secrets.redacting import redact
from agentflow.text import preview, sanitise


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a failure.

    `status` is the HTTP status the provider answered with, `names` the class names of the exceptions from the
    outermost to the cause, `codes` the error codes and types of its body, lower case. `streaming`: it had begun to
    answer with 200.
    """

    text: str = ""
    status: int | None = None
    names: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    retry_after: float | None = None
    streaming: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """Fits when any of the four does, and only for a failure within a stream where `streaming` says so."""

    kind: ModelErrorKind
    statuses: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    text: re.Pattern[str] | None = None
    streaming: bool = False

    def fits(self, facts: Facts) -> bool:
        if self.streaming and not facts.streaming:
            return False
        return (
            facts.status in self.statuses
            or not self.names.isdisjoint(facts.names)
            or not self.codes.isdisjoint(facts.codes)
            or (self.text is not None and self.text.search(facts.text) is not None)
        )


def _row(
    kind: ModelErrorKind,
    *,
    statuses: str = "",
    names: str = "",
    codes: str = "",
    text: str = "",
    streaming: bool = False,
) -> Row:
    return Row(
        kind,
        frozenset(map(int, statuses.split())),
        frozenset(names.split()),
        frozenset(codes.split()),
        re.compile(text, re.IGNORECASE | re.DOTALL | re.VERBOSE) if text else None,
        streaming,
    )


TABLE: tuple[Row, ...] = (
    _row("auth", statuses="402", codes="insufficient_quota billing_error"),
    _row(
        "rate_limited",
        statuses="429",
        names="RateLimitError",
        codes="429 rate_limit_exceeded rate_limit_error resource_exhausted throttlingexception",
        text=r"tokens\ per\ min | rate\ limit | too\ many\ requests | too\ many\ tokens,\ please\ wait",
    ),
    _row("content_filter", names="ContentPolicyViolationError", codes="content_filter content_policy_violation"),
    # Limits of the output, or of one field: the request is wrong, not long.
    _row(
        "bad_request",
        codes="unsupported_parameter",
        text=r"""
            max_(completion_|output_)?tokens[`'"]?(\ or\ [`'"]?max_completion_tokens[`'"]?)?\ is\ too\ (large|big)
            | max_(completion_|output_)?tokens\b.{0,40}\ (maximum\ allowed|maximum\ value|must\ be\ less)
            | maximum\ allowed\ number\ of\ output\ tokens
            | string\ too\ long\..{0,60}maximum\ length\ \d{1,4}\b
            """,
    ),
    _row(
        "context_overflow",
        statuses="413",
        names="ContextWindowExceededError",
        codes="context_length_exceeded context_window_exceeded request_too_large exceed_context_size_error",
        text=r"""
            max(imum)?\ (context|prompt)\ length | context\ length\ is\ only | greater\ than\ the\ context\ length
            | exceeds?\ the\ (context\ window|maximum\ model\ length|model's\ context)
            | exceed(s|ed)?\ (the\ )?(available\ )?context\ (size|limit|length|window)
            | context\ window\ exceeds\ limit | exceeded\ model\ token\ limit | token\ limit\ exceeded
            | reduce\ the\ length\ of\ the\ (messages|input|prompt)
            | (prompt|input|request|conversation)\ (is\ )?too\ (long|large)
            | token\ count.{0,30}\ exceeds | exceeds\ the\ maximum\ number\ of\ (input\ )?tokens
            | tokens?\ exceeds?\ the\ configured\ limit | too\ many\ (input\ )?tokens
            | tokens\ in\ request\ more\ than\ max | max_new_tokens[`'"]?\ must\ be\ <=
            | max_tokens\ must\ be\ at\ least\ 1,\ got\ -
            | range\ of\ input\ length\ should\ be | input\ length\ exceeds
            | longer\ than\ the\ (maximum\ )?(model|context)
            | (payload|entity|content)\ too\ large | request\ exceeds\ the\ maximum\ size
            | string\ too\ long\..{0,60}maximum\ length
            """,
    ),
    _row(
        "content_filter",
        text=r"content\ (management|filter|policy)|responsible\ ai\ policy|flagged\ as\ potentially\ violating",
    ),
    _row(
        "auth",
        statuses="401 403",
        names="AuthenticationError PermissionDeniedError PaymentRequiredError",
        codes="authentication_error permission_error invalid_api_key unauthenticated permission_denied",
        text=r"(incorrect|invalid|missing)\ (\w+\ )?(x-)?api[\ -_]?key | missing\ credentials"
        r"| api_key\ client\ option\ must\ be\ set",
    ),
    _row("cut", streaming=True, text=r"repeating\ the\ same\ chunk"),
    _row(
        "timeout",
        statuses="408 504",
        names="Timeout TimeoutError APITimeoutError ReadTimeout ConnectTimeout",
        codes="timeout_error",
    ),
    _row(
        "cut",
        streaming=True,
        names="ReadError RemoteProtocolError ClientPayloadError ClientOSError ServerDisconnectedError "
        "IncompleteReadError TransferEncodingError ConnectionResetError",
        text=r"ended\ before\ a\ finish_reason|connection\ error|payload\ is\ not\ completed|peer\ closed\ connection",
    ),
    _row("unavailable", statuses="409 425 500 502 503 529", codes="overloaded_error api_error server_error"),
    _row(
        "bad_request",
        statuses="400 404 405 415 422",
        names="BadRequestError NotFoundError UnprocessableEntityError UnsupportedParamsError LiteLLMUnknownProvider",
        codes="invalid_request_error not_found_error model_not_found",
    ),
)
OTHERWISE: ModelErrorKind = "unavailable"

# What happened, and what to do about it; the provider's own words follow the first part.
SENTENCES: dict[ModelErrorKind, tuple[str, str]] = {
    "rate_limited": ("refused the request: too many requests or tokens per minute", "Try again later."),
    "timeout": ("gave the request up, because it took too long", "Try again later, or ask for less."),
    "unavailable": ("is not available", "Check the address and the network, or try again later."),
    "auth": ("refused the credentials", "Check the API key, its rights and the account's balance."),
    "bad_request": ("refused the request as invalid", "Check the model's name and settings."),
    "context_overflow": ("refused the request as too long for its context window", "Shorten the conversation."),
    "cut": ("ended its reply before it was complete", "Try again."),
    "bad_reply": ("replied with something that has no text", "Ask for text, or use another model."),
    "output_limit": ("reached its output limit before it said anything", "Raise max_output_tokens."),
    "content_filter": ("withheld the reply because of its content filter", "Rephrase the request."),
    "script": ("has no reply for this request", "Add one to the script."),
}


def classify(facts: Facts, otherwise: ModelErrorKind = OTHERWISE) -> ModelErrorKind:
    """The kind of the first row that fits."""
    return next((row.kind for row in TABLE if row.fits(facts)), otherwise)


def model_error(model: str, facts: Facts) -> ModelError:
    """The failure as an error whose sentence a person can act on; no secret is in it."""
    kind = classify(facts)
    said = preview(redact_foreign(provider_words(facts.text)), 400)
    return ModelError(kind, sentence(model, kind, said), retry_after=facts.retry_after, status=facts.status)


def sentence(model: str, kind: ModelErrorKind, said: str = "") -> str:
    """What happened, in the provider's words if there are any, and what to do."""
    happened, advice = SENTENCES[kind]
    return f"The model {model} {happened}{f' ({said})' if said else ''}. {advice}"


def call_limit(own: float | None, agents: float) -> tuple[float, str]:
    """The seconds of one call, 0 for none, and the key that says so: an interface's holds over its agent's (D45)."""
    return (agents, "settings.llm_timeout_secs") if own is None else (own, "its interface's timeout_secs")


def too_slow(seconds: float, key: str) -> ModelError:
    """A call that was ended here because it took longer than the seconds of that key."""
    return ModelError(
        "timeout", f"The model did not complete its reply within {seconds:g} seconds ({key}). Try again, or raise it."
    )


_PREFIX = re.compile(r"^(?:litellm\.)?\w+(?:Error|Exception|Timeout)\s*[:-]\s*")
_ORIGINAL = re.compile(r"(?:Original exception|Handle with|LiteLLM Retried|Traceback \(most recent)\b.*", re.DOTALL)


def provider_words(text: str) -> str:
    """The provider's own message, without the names of the exceptions and the JSON it came wrapped in."""
    text = text.strip()
    while shorter := _PREFIX.match(text):
        text = text[shorter.end() :]
    message = _fault(text).get("message")
    words = message if isinstance(message, str) else _ORIGINAL.sub("", text)
    return sanitise(" ".join(words.split())).rstrip(".")


def codes_in(text: str) -> frozenset[str]:
    """Code, type and status of an error body that stands in the text as JSON, lower case."""
    fault = _fault(text)
    return frozenset(str(fault[key]).lower() for key in ("code", "type", "status") if fault.get(key))


def _fault(text: str) -> dict[str, Any]:
    body = _json_in(text)
    if body is None and "\\" in text:  # the body may have been shown as Python shows bytes
        body = _json_in(text.replace("\\\\", "\\").replace("\\'", "'"))
    inner = body.get("error", body) if isinstance(body, dict) else {}
    return inner if isinstance(inner, dict) else {"message": inner}


def _json_in(text: str) -> Any:
    start = text.find("{")
    try:
        return json.JSONDecoder().raw_decode(text[start:])[0] if start >= 0 else None
    except (ValueError, RecursionError):
        return None


_SECRETS = re.compile(
    r"""
    (?P<label>
        \bbearer\s+(?=\S{8})
        | \b(?:x-)?api[-_ ]?key\b[\w\s]{0,12}["']?\s*[:=]\s*["']?
        | [?&]key=
    )[^\s"',;)]+
    | \b(?:sk|pk|rk|gsk|xai|hf|ghp|glpat)[-_][\w*.-]{6,}
    | \b(?:AIza|AKIA|ya29)[\w*.-]{8,}
    | \b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}
    """,
    re.IGNORECASE | re.VERBOSE,
)


def redact_foreign(text: str) -> str:
    """A provider's words without secrets, and without anything that only looks like one."""
    text = redact(text)
    return _SECRETS.sub(lambda found: f"{found['label'] or ''}***", text)
