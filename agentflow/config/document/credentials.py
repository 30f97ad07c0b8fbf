"""Credentials in a file: learned while it is read, and shown as it writes them (A3, Z4).

What the environment gives is shown as `${VAR}`, what is written in full under a name of a secret as `***`. `prompt`,
`model`, names and numbers are public, whatever they were made of.
"""

from __future__ import annotations

from typing import Any

from agentflow.config.document.problems import Path
from agentflow.config.document.variables import Substituted
from agentflow.secrets.known import learn, learn_url
from agentflow.secrets.names import MASK, holds_secrets, is_secret, may_hold_credentials
from agentflow.secrets.redacting import mask_urls, redact

_PUBLIC = frozenset({"prompt", "response_guidelines", "constraints", "model", "name"})


def learn_credential(path: Path, text: str) -> None:
    """Let nobody tell this value of a file, if it can be a credential, nor what of an address is one."""
    if isinstance(text, Substituted):
        for name, value in text.values.items():
            if may_hold_credentials(path) or is_secret(name):
                learn(value, f"${{{name}}}")
        if text.values and may_hold_credentials(path):
            learn(text, text.written)
    elif holds_secrets(path):
        learn(text)
    if may_hold_credentials(path):
        learn_url(text)


def unexpanded(value: Any, path: Path = ()) -> Any:
    """JSON of a configuration with every credential in it as the file writes it, or masked."""
    if isinstance(value, dict):
        return {key: unexpanded(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [unexpanded(item, (*path, index)) for index, item in enumerate(value)]
    if not isinstance(value, str):
        return value
    if not may_hold_credentials(path):
        return str(value) if _PUBLIC.intersection(path) else mask_urls(value)
    if isinstance(value, Substituted):
        return redact(value.written)
    return MASK if holds_secrets(path) else redact(value)
