"""The templates by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import ask_user, evaluation, hello, long_context, sub_agents, tools, worker
from .template import Template

TEMPLATES: Mapping[str, Template] = MappingProxyType(
    {
        "hello": hello.TEMPLATE,
        "tools": tools.TEMPLATE,
        "ask-user": ask_user.TEMPLATE,
        "long-context": long_context.TEMPLATE,
        "sub-agents": sub_agents.TEMPLATE,
        "worker": worker.TEMPLATE,
        "evaluation": evaluation.TEMPLATE,
    }
)
