"""A reference to a file in the form that a provider takes, or as a note for a model that cannot read it (W4). Pure.

The form is the one litellm takes for every provider.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from agentflow.media.files import described, hashes_in, is_file, left_out
from agentflow.media.kinds import PDF

IMAGE, AUDIO = "image", "audio"
READABLE = (IMAGE, "pdf", AUDIO)
"""What a model may be able to read besides text."""

_MISSING = "its bytes are not there any more"
_SOUND_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3", "audio/flac": "flac", "audio/ogg": "ogg", "audio/mp4": "m4a"}


def kind_read(reference: Mapping[str, Any]) -> str | None:
    """Which of `READABLE` a model has to read; null for a text, which every model reads."""
    if reference["type"] in (IMAGE, AUDIO):
        return str(reference["type"])
    return "pdf" if reference.get("media_type") == PDF else None


def sent_files(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The hashes of the files that wire messages name."""
    for message in messages:
        if type(content := message.get("content")) is list:  # of most it is a text: this is asked of each in every call
            yield from hashes_in(content)


_OF_LINKS = {"image_url": IMAGE, "input_audio": AUDIO, "file": "pdf"}


def kinds_in(messages: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Which of `READABLE` these wire messages ask of a model."""
    parts = [part for message in messages for part in parts_of(message)]
    kinds = {kind_read(part) if is_file(part) else _OF_LINKS.get(str(part.get("type"))) for part in parts}
    return frozenset(kind for kind in kinds if kind is not None)


def filled(
    messages: Sequence[Mapping[str, Any]],
    bodies: Mapping[str, str],
    reads: Collection[str] | None,
    refused: Collection[str] = (),
) -> list[dict[str, Any]]:
    """The messages with each reference in the provider's form. `bodies` are base64 by hash, `reads` what the model can
    read, null for everything, `refused` the hashes of files that the provider would not take.
    """
    return [
        {**message, "content": [_given(part, bodies, reads, refused) for part in message["content"]]}
        if any(map(is_file, parts_of(message)))
        else dict(message)
        for message in messages
    ]


def parts_of(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The content parts of a wire message, none of one that is a text."""
    content = message.get("content")
    return content if isinstance(content, list) else ()


def _given(
    part: Mapping[str, Any], bodies: Mapping[str, str], reads: Collection[str] | None, refused: Collection[str]
) -> Mapping[str, Any]:
    if not is_file(part):
        return part
    kind, body = kind_read(part), bodies.get(part["hash"])
    if reads is not None and kind is not None and kind not in reads:
        return left_out(part, "this model cannot read it")
    if part["hash"] in refused:
        return left_out(part, "the provider did not take it")
    if body is None:
        return left_out(part, _MISSING)
    return _FORMS[kind](part, body)


def _picture(part: Mapping[str, Any], body: str) -> dict[str, Any]:
    detail = {"detail": part["detail"]} if "detail" in part else {}
    return {"type": "image_url", "image_url": {"url": f"data:{part['media_type']};base64,{body}", **detail}}


def _sound(part: Mapping[str, Any], body: str) -> dict[str, Any]:
    format_ = _SOUND_FORMATS.get(str(part.get("media_type")), "wav")
    return {"type": "input_audio", "input_audio": {"data": body, "format": format_}}


def _document(part: Mapping[str, Any], body: str) -> dict[str, Any]:
    name = part.get("name") or "document.pdf"
    return {"type": "file", "file": {"file_data": f"data:{PDF};base64,{body}", "filename": name}}


def _text(part: Mapping[str, Any], body: str) -> dict[str, Any]:
    text = base64.b64decode(body).decode("utf-8-sig", "replace")
    return {"type": "text", "text": f"[{described(part)}]\n{text}"}


_FORMS = {IMAGE: _picture, AUDIO: _sound, "pdf": _document, None: _text}
