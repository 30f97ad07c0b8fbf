"""Why a reply ended: the providers' words as ours, as one table (T12). Pure."""

from __future__ import annotations

_WORDS = {
    "stop": "stop end_turn eos eos_token stop_sequence complete completed finished end",
    "tool_calls": "tool_calls tool_call tool_use function_call",
    "length": """
        length max_tokens model_length max_output_tokens max_length max_new_tokens token_limit incomplete
        model_context_window_exceeded context_length_exceeded pause_turn
        """,
    "refusal": "refusal",
    "content_filter": """
        content_filter content_filtered safety recitation language blocklist prohibited_content spii image_safety
        image_prohibited_content image_recitation guardrail_intervened guardrails sensitive moderation
        """,
    "failed": """
        error failed network_error server_error insufficient_system_resource malformed_function_call
        malformed_tool_call malformed_tool_use malformed_model_output malformed_response unexpected_tool_call
        too_many_tool_calls missing_thought_signature no_image image_other cancelled canceled abort aborted timeout
        unknown other finish_reason_unspecified unspecified
        """,
}
_KIND = {word: kind for kind, words in _WORDS.items() for word in words.split()}
FAILED = "failed"


def finish_kind(word: str | None, told: str) -> str:
    """`stop`, `tool_calls`, `length`, `refusal`, `content_filter` or `failed`.

    `word` is the provider's own, `told` what the library made of it, which counts where nobody here knows the word.
    """
    known = _KIND.get((word or told).lower().removeprefix("finish_reason_"))
    return known or _KIND.get(told.lower(), "stop")
