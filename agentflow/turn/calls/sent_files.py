"""The files that one model call sends: filled in as it goes out, and left out where the provider refuses them (W4).

What was left out is recorded with the call, so that its exact request is made again, and the same model is not given
the same file again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from agentflow.conversation.history import WireMessage
from agentflow.errors import ModelError
from agentflow.media.files import is_file
from agentflow.media.provider import filled, kind_read, parts_of, sent_files
from agentflow.models.protocol import Model, ModelRequest, reads_of
from agentflow.store.protocol import Store

_NAMED = {
    "image": re.compile(r"image|picture|media|base64|content part", re.IGNORECASE),
    "audio": re.compile(r"audio|sound|media|base64|content part", re.IGNORECASE),
    "pdf": re.compile(r"pdf|document|file|media|base64|content part", re.IGNORECASE),
}
"""How a provider names what it refuses."""


class SentFiles:
    """The files of one call's messages: `bodies` are base64 by hash, `refused` those the model was refused."""

    def __init__(self, messages: Sequence[WireMessage], bodies: Mapping[str, str], refused: set[str]) -> None:
        self._messages = messages
        self._bodies = bodies
        self._refused = refused

    def request(self, request: ModelRequest, model: Model) -> ModelRequest:
        """The request as this model is given it."""
        return replace(request, messages=filled(self._messages, self._bodies, reads_of(model), self._refused))

    def said(self, model: Model) -> dict[str, Any]:
        """What the messages are made again with (R5)."""
        reads = reads_of(model)
        return {"reads": None if reads is None else sorted(reads), "refused": sorted(self._refused)}

    def refuse(self, failure: ModelError) -> bool:
        """Leave out the files that a refusal names: the newest of their kind, or all when these are left out already.
        False when it names none that was sent.
        """
        if failure.kind != "bad_request":
            return False
        kinds = {kind for kind, named in _NAMED.items() if named.search(str(failure))}
        since = max((at for at, each in enumerate(self._messages) if each["role"] == "assistant"), default=-1)
        for messages in (self._messages[since + 1 :], self._messages):
            named = self._of_kinds(messages, kinds) - self._refused
            if named:
                self._refused |= named
                return True
        return False

    def _of_kinds(self, messages: Sequence[WireMessage], kinds: set[str]) -> set[str]:
        parts = (part for message in messages for part in parts_of(message))
        return {part["hash"] for part in parts if is_file(part) and kind_read(part) in kinds}


async def files_of(
    store: Store, key: int, messages: Sequence[WireMessage], model: str, named: Set[str] | None = None
) -> SentFiles | None:
    """The files that these messages name; null where they name none, as most do.

    `named` are their hashes where they are known: a long history is not looked through for each call.
    """
    hashes = set(sent_files(messages)) if named is None else named
    if not hashes:
        return None
    found = await store.ledger.files(key, sorted(hashes), model)
    return SentFiles(messages, found.bodies, set(found.refused) & hashes)
