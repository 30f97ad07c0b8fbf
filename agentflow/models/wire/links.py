"""Content parts that stand elsewhere: handed on where the provider fetches them, else left out with a note (Z10).

The library's adapters of other providers would fetch an address themselves, from where this process runs. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentflow.media.addresses import addresses

FETCHING = frozenset({
    "openai", "azure", "xai", "groq", "mistral", "openrouter", "together_ai", "fireworks_ai", "deepinfra",
    "hosted_vllm", "litellm_proxy", "nvidia_nim", "perplexity",
})  # fmt: skip
"""Providers who get an `https:` address as it is; a test shows for each that the library asks nobody."""


def leave_out_links(messages: Sequence[dict[str, Any]], provider: str) -> None:
    """Replace, in copies made for the library, each part that it would fetch by a text that says so."""
    for message in messages:
        if isinstance(message.get("content"), list):
            message["content"] = [_sendable(part, provider) for part in message["content"]]


def _sendable(part: Mapping[str, Any], provider: str) -> Mapping[str, Any]:
    for _, address, is_fit in addresses(part):
        if not is_fit or not (address.startswith("data:") or provider in FETCHING):
            return {"type": "text", "text": f"[{part['type']}: left out, it is kept elsewhere and cannot be fetched]"}
    return part
