"""A session as one page that does nothing and asks nobody: no script, no address, every text escaped (Z5, R12)."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from hashlib import sha256
from html import escape

from agentflow.portable.shown import shown_text
from agentflow.portable.story import Asked, Said, story
from agentflow.store.portable import Portable

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem }
dd { margin: 0 }
article { border-left: 4px solid #c6ccd3; padding: .2rem 1rem; margin: 1rem 0 }
article.user { border-color: #2f6fb2 }
article.assistant { border-color: #3b8a57 }
article.tool { border-color: #a5792a }
header, .asked { color: #57606a; font-size: 13px }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; margin: .4rem 0 }
pre.code { font: 13px/1.4 ui-monospace, monospace }
img { max-width: 100% }
"""
_ALLOWED = base64.b64encode(sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; img-src data:; style-src 'sha256-{_ALLOWED}'; base-uri 'none'; form-action 'none'"


def page(session: Portable) -> Iterator[str]:
    """The conversation as it stands, then what else is in its tree."""
    told = story(session)
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>Session {_text(told.facts[0][1])}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>Session {_text(told.facts[0][1])}</h1>\n<dl>\n"
    )
    for name, value in told.facts[1:]:
        yield f"<dt>{name}</dt><dd>{_text(value)}</dd>\n"
    yield "</dl>\n<h2>Conversation</h2>\n"
    yield from _messages(told.path)
    for strand in told.others:
        whose = f" of {_text(strand.agent)}" if strand.agent else ""
        after = f"<p>It forks after {_text(strand.after)}.</p>" if strand.after else ""
        yield f"<details open>\n<summary>Branch {strand.number}{whose}</summary>\n{after}\n"
        yield from _messages(strand.messages)
        yield "</details>\n"
    yield "</body>\n</html>\n"


def _messages(messages: Iterable[Said]) -> Iterator[str]:
    for said in messages:
        note = f" · {_text(said.note)}" if said.note else ""
        yield (
            f'<article class="{said.role}">\n'
            f"<header><b>{said.role}</b> · {_text(said.id)} · <time>{said.at}</time>{note}</header>\n"
        )
        if said.text:
            yield f"<pre>{_text(said.text)}</pre>\n"
        for picture in said.pictures:
            yield f'<img alt="picture" src="{escape(picture)}">\n'
        yield from map(_asked, said.calls)
        yield "</article>\n"


def _asked(call: Asked) -> str:
    return (
        f'<div class="asked">calls <b>{_text(call.name)}</b> {_text(call.id)} {_text(call.outcome)}</div>\n'
        f'<pre class="code">{_text(call.arguments)}</pre>\n'
    )


def _text(text: str) -> str:
    return escape(shown_text(text))
