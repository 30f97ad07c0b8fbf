"""What `extra:` of an interface may not hold: keys that would change the call's meaning, and such that are not sent."""

from __future__ import annotations

_OURS = {
    "api_base": "write it beside extra: api_base",
    "base_url": "write it beside extra: api_base",
    "api_key": "write it beside extra: api_key",
    "custom_llm_provider": "it begins the model string: model",
    "max_completion_tokens": "write it beside extra: max_output_tokens",
    "max_output_tokens": "write it beside extra: max_output_tokens",
    "max_tokens": "write it beside extra: max_output_tokens",
    "model": "write it beside extra: model",
    "reasoning_effort": "write it beside extra: reasoning_effort",
    "temperature": "write it beside extra: temperature",
    "request_timeout": "write it beside extra: timeout_secs",
    "stream_timeout": "write it beside extra: timeout_secs",
    "timeout": "write it beside extra: timeout_secs",
    "timeout_secs": "write it beside extra: timeout_secs",
    "top_p": "write it beside extra: top_p",
    "num_retries": "it is the agent's settings.llm_retries",
    "max_retries": "it is the agent's settings.llm_retries",
    "messages": "the conversation stands there; write what the model is to know into prompt",
    "n": "one answer is read",
    "stream": "every call is streamed",
    "stream_options": "every call is streamed",
    "functions": "write flows into the agent's tools",
    "function_call": "write flows into the agent's tools",
    "tools": "write flows into the agent's tools",
}
"""Keys that agentflow gives itself, and where an author says it."""

_LITELLM = (
    "acompletion allowed_model_region async_call budget_duration cache cache_key caching caching_groups client "
    "complete_response cooldown_time context_window_fallback_dict custom_prompt_dict fallback_depth fallbacks "
    "fastest_response force_timeout guardrails id litellm_call_id litellm_logging_obj litellm_metadata "
    "litellm_session_id litellm_trace_id logger_fn max_budget max_fallbacks max_parallel_requests metadata mock_delay "
    "mock_response mock_timeout mock_tool_calls model_alias_map model_config model_info model_list no-log "
    "preset_cache_key prompt_id prompt_label prompt_variables prompt_version proxy_server_request retry_policy "
    "retry_strategy routing_strategy rpm secret_fields shared_session stream_response tags text_completion tpm ttl "
    "turn_off_message_logging use_client use_litellm_proxy verbose"
)
_NOT_SENT = frozenset(_LITELLM.split())
"""litellm's own keys: they steer litellm, and the provider never sees them."""


def refused_extra(key: str) -> str | None:
    """Why the key cannot stand under `extra`, null when it is sent to the provider."""
    if key in _OURS:
        return f"cannot be given as an extra parameter: {_OURS[key]}"
    if key in _NOT_SENT:
        return "is a key of litellm itself and never sent to the provider; leave it out"
    return None
