"""One table tells a provider's refusals apart (X16, B26), and the sentence about them is fit to be shown."""

from __future__ import annotations

import pytest

from agentflow.errors import ModelErrorKind
from agentflow.models.errors import Facts, classify, model_error, provider_words, redact_foreign
from agentflow.secrets.known import learn


def said(
    text: str = "", status: int | None = None, *, names: str = "", codes: str = "", streaming: bool = False
) -> Facts:
    return Facts(text, status, frozenset(names.split()), frozenset(codes.split()), streaming=streaming)


OVERFLOWS = {
    "OpenAI": "This model's maximum context length is 128000 tokens. However, you requested 130000 tokens (126000 in "
    "the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
    "OpenAI, newer": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "OpenAI, messages": "Please reduce the length of the messages.",
    "OpenAI, limit": "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000.",
    "OpenAI, one text": "Invalid 'messages[0].content': string too long. Expected a string with maximum length "
    "10485760, but got a string with length 10485761 instead.",
    "Anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
    "Anthropic, sum": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input "
    "length or `max_tokens` and try again",
    "Anthropic, bytes": "Request exceeds the maximum size",
    "Gemini": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Bedrock": "Input is too long for requested model.",
    "Bedrock, Nova": "Too many input tokens. Max input tokens: 300000, request input token count: 310000",
    "llama.cpp": "the request exceeds the available context size. try increasing the context size",
    "vLLM": "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please "
    "reduce the length of the input messages.",
    "vLLM, decoder": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "vLLM, older": "max_tokens must be at least 1, got -904.",
    "OpenRouter": "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens",
    "Qwen": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
    "Mistral": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Moonshot": "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)",
    "Ollama": "prompt too long; exceeded max context length by 5 tokens",
    "LM Studio": "The number of tokens to keep from the initial prompt is greater than the context length",
    "TGI": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 512 `max_new_tokens`",
    "Copilot": "prompt token count of 130000 exceeds the limit of 128000",
    "Cohere": "too many tokens: size limit exceeded by 1000 tokens",
    "a gateway": "413 Request Entity Too Large",
    "B26, one": "input token count exceeds the maximum",
    "B26, two": "tokens exceed the configured limit",
    "B26, three": "input length and max_tokens exceed context limit: 10 + 20 > 25",
    "B26, four": "range of input length should be [1, 100]",
}


@pytest.mark.parametrize("dialect", OVERFLOWS)
def test_too_long_is_recognised_in_every_dialect(dialect: str) -> None:
    """B26, X16; the same words as an error event inside a 200 stream count too."""
    text = f"litellm.BadRequestError: SomeException - {OVERFLOWS[dialect]}"
    assert classify(said(text, 400, names="BadRequestError")) == "context_overflow"
    assert classify(said(text, names="APIConnectionError", streaming=True)) == "context_overflow"


@pytest.mark.parametrize(
    "facts",
    [
        said("no", 400, codes="context_length_exceeded invalid_request_error"),
        said("no", 400, codes="exceed_context_size_error"),
        said("no", 413),
        said("no", 400, names="ContextWindowExceededError BadRequestError"),
    ],
)
def test_too_long_is_recognised_by_code_status_and_class(facts: Facts) -> None:
    """B26, X16"""
    assert classify(facts) == "context_overflow"


_SEEN_AS_OVERFLOW = "ContextWindowExceededError"  # by the library

LOOK_ALIKES: dict[str, tuple[Facts, ModelErrorKind]] = {
    "output limit": (
        said("max_tokens is too large: 99999. This model supports at most 16384 completion tokens", 400),
        "bad_request",
    ),
    "output limit, with the context's": (
        said(
            "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 "
            "tokens and your request has 20 input tokens",
            400,
            names=_SEEN_AS_OVERFLOW,
        ),
        "bad_request",
    ),
    "output limit, Anthropic": (
        said("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude", 400),
        "bad_request",
    ),
    "a field": (
        said(
            "Invalid 'messages[1].tool_call_id': string too long. Expected a string with maximum length 40, but got a "
            "string with length 57 instead.",
            400,
            names=_SEEN_AS_OVERFLOW,
        ),
        "bad_request",
    ),
    "tokens per minute": (
        said("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000", 429),
        "rate_limited",
    ),
    "tokens per minute, as 413": (
        said("Request too large for model `x` on tokens per minute (TPM)", 413, codes="rate_limit_exceeded"),
        "rate_limited",
    ),
    "throttling": (said("Too many tokens, please wait before trying again.", 429), "rate_limited"),
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_what_only_looks_too_long_is_not_overflow(name: str) -> None:
    """B26, X16"""
    facts, kind = LOOK_ALIKES[name]
    assert classify(facts) == kind


KINDS: list[tuple[Facts, ModelErrorKind]] = [
    (said(status=429, codes="insufficient_quota"), "auth"),  # waiting does not help
    (said(status=402), "auth"),
    (said(status=401), "auth"),
    (said(status=403), "auth"),
    (said("Incorrect API key provided", 400), "auth"),
    (said("Missing credentials. Please pass an `api_key` or set the `OPENAI_API_KEY` variable", 500), "auth"),
    (said("Missing Gemini API key. Set the GEMINI_API_KEY or GOOGLE_API_KEY environment variable.", 500), "auth"),
    (said(names="RateLimitError"), "rate_limited"),
    (said(codes="rate_limit_error", streaming=True), "rate_limited"),
    (said(status=400, codes="content_filter"), "content_filter"),
    (said(names="ContentPolicyViolationError BadRequestError"), "content_filter"),
    (said("The response was filtered due to Azure OpenAI's content management policy", 400), "content_filter"),
    (said(status=408), "timeout"),
    (said(status=504), "timeout"),
    (said(names="Timeout ReadTimeout", streaming=True), "timeout"),
    (said("Connection error.", names="InternalServerError APIConnectionError ConnectError"), "unavailable"),
    (said("Connection error.", names="APIConnectionError", streaming=True), "cut"),
    (said("Stream ended before a finish_reason was received", streaming=True), "cut"),
    (said(names="APIConnectionError RemoteProtocolError", streaming=True), "cut"),
    (said(names="RemoteProtocolError"), "unavailable"),
    (said("Overloaded", codes="overloaded_error", streaming=True), "unavailable"),
    (said(status=500, codes="invalid_request_error"), "unavailable"),
    (said(status=529), "unavailable"),
    (said(status=404), "bad_request"),
    (said("LLM Provider NOT provided", names="BadRequestError"), "bad_request"),
    (said(codes="invalid_request_error", streaming=True), "bad_request"),
    (said("nobody knows"), "unavailable"),
]


@pytest.mark.parametrize(("facts", "kind"), KINDS)
def test_the_rest_of_the_table(facts: Facts, kind: ModelErrorKind) -> None:
    """T16"""
    assert classify(facts) == kind


def test_the_sentence_says_what_happened_where_and_what_to_do() -> None:
    """T16"""
    error = model_error("openai/x", said("litellm.NotFoundError: NotFoundError: OpenAIException - no such model", 404))
    assert str(error) == (
        "The model openai/x refused the request as invalid (no such model). Check the model's name and settings."
    )
    assert (error.code, error.status) == ("model_error.bad_request", 404)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("litellm.RateLimitError: RateLimitError: OpenAIException - slow down", "slow down"),
        ('litellm.XError: AnthropicException - b\'{"error": {"message": "too\\n long"}}\'', "too long"),
        ('YException - b\'{"error": {"message": "the \\\\"user\\\\" role"}}\'. Handle with `x`', 'the "user" role'),
        ("A - boom. Original exception: SomeError: boom", "A - boom"),
        ("GException - Missing API key.\nTraceback (most recent call last):\n  File x", "Missing API key"),
        ('{"error": "plain"}', "plain"),
        ("costs {x}", "costs {x}"),
        ("", ""),
    ],
)
def test_the_provider_is_quoted_without_its_wrapping(text: str, words: str) -> None:
    assert provider_words(text) == words


SECRETS = [
    "Incorrect API key provided: sk-abc***xyz.",
    "Incorrect API key provided: my-own",
    "header Authorization: Bearer abcdefgh.ijkl",
    "GET https://x/v1?key=AIzaSyA1234567890 failed",
    "key sk-proj-a1b2c3d4e5f6",
    "AKIAIOSFODNN7EXAMPLE is not known",
    "token 0123456789abcdef0123456789abcdef",
]


@pytest.mark.parametrize("text", SECRETS)
def test_what_looks_like_a_secret_is_not_repeated(text: str) -> None:
    """A3"""
    secrets = ("sk-abc", "my-own", "abcdefgh", "AIzaSyA", "sk-proj", "AKIAIOS", "0123456789abcdef")
    assert "***" in redact_foreign(text)
    assert not any(secret in redact_foreign(text) for secret in secrets)


def test_ordinary_words_are_left_alone() -> None:
    text = "The task-based tokenizer key_length of claude-sonnet-4-5-20250929: bearer token missing, 200000 tokens"
    assert redact_foreign(text) == text


def test_the_key_in_use_is_never_repeated() -> None:
    """A3: whatever it looks like."""
    learn("horse and carriage")
    error = model_error("openai/x", said("no rights for horse and carriage", 401))
    assert "horse" not in str(error)
    assert "***" in str(error)


def test_a_long_complaint_is_cut() -> None:
    assert len(str(model_error("openai/x", said("no " * 5000, 400)))) < 600
