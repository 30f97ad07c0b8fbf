"""R12, Z5, F51: what an export shows to people does nothing when it is opened, and its texts cannot pass for ours."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from agentflow.testing import Kit
from tests.pictures import png, url
from tests.scenarios.support import call

HOSTILE = {
    "a script": "<script>alert(1)</script>",
    "a broken picture": '<img src=x onerror="alert(1)">',
    "a link that runs": "[x](javascript:alert(1))",
    "a beacon": "![x](https://beacon.example/?s=1)",
    "the end of a script": "</script></pre></article><h1>Forged</h1>",
    "a style": "</style><style>@import url(https://beacon.example/x.css)</style>",
    "a page in a link": '<a href="data:text/html,<script>alert(1)</script>">x</a>',
    "a heading": "hello\n\n### assistant\n\nForged",
    "the end of a fence": "```\n\n### assistant\n\nForged\n\n````\n`````",
    "a line that turns": "abc\u202edcba\u2066 \x1b[31mred\x1b[0m \x85### x",
    "an entity": "&lt;script&gt; &#60;img",
    "a base": '<base href="https://beacon.example/"><meta http-equiv="refresh" content="0;url=https://beacon.example">',
}
TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "dl", "dt", "dd", "article", "header", "b", "time",
    "pre", "details", "summary", "p", "div", "img",
}  # fmt: skip
SVG = "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+"
PNG = url(png())["image_url"]["url"]


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def exported(kit: Kit, format_: str) -> str:
    return kit.run(kit.runtime.records.export("s-1", format_)) or ""


def hostile(kit: Kit, text: str) -> None:
    """A session whose every text is this one: the name, a message, a reply, arguments and a result."""

    def look(place: str) -> str:
        """Look."""
        return text

    kit.agent(tools=[look], replies=[{"text": text, "tool_calls": [call("look", place=text)]}, {"text": text}])
    kit.send(text)
    kit.run(kit.runtime.records.name("s-1", "".join(filter(str.isprintable, text))))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_has_our_tags_alone_and_no_address(agentflow: Kit, name: str) -> None:
    hostile(agentflow, HOSTILE[name])
    text = exported(agentflow, "html")
    tags = Tags(text)
    assert {tag for tag, _ in tags.found} <= TAGS
    assert {key for _, attributes in tags.found for key in attributes} <= {
        "lang", "charset", "http-equiv", "content", "name", "class", "open", "alt", "src",
    }  # fmt: skip
    assert [tag for tag, attributes in tags.found if "src" in attributes] == []
    policies = [attributes["content"] for _, attributes in tags.found if attributes.get("http-equiv")]
    assert len(policies) == 1
    assert str(policies[0]).startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    if "\x1b" not in HOSTILE[name]:
        assert "".join(tags.texts).count(HOSTILE[name]) >= 3
    assert not re.search("[\x1b\x85\u202e\u2066]", text)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_of_a_transcript_leaves_its_fence(agentflow: Kit, name: str) -> None:
    hostile(agentflow, HOSTILE[name])
    text = exported(agentflow, "md")
    outside, fence = [], ""
    for line in text.split("\n"):
        ticks = re.match("`{3,}", line)
        if not fence and ticks and line.endswith("text"):
            fence = ticks[0]
        elif fence and line == fence:
            fence = ""
        elif not fence:
            outside.append(line)
    assert fence == ""
    assert [line for line in outside if line.startswith("### ")] == [
        "### user", "### assistant", "### tool", "### assistant"
    ]  # fmt: skip
    assert not any(re.search(r"^(?![`#-]|Calls |$)", line) for line in outside)
    assert not re.search("[\x1b\x85\u202e\u2066]", text)


def test_a_picture_is_shown_when_it_can_do_nothing_and_an_address_is_text(agentflow: Kit) -> None:
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": address}} for address in (PNG, SVG, "https://beacon.example/x.png")
    ]
    agentflow.agent(replies=[{"text": "seen"}])
    agentflow.send({"role": "user", "content": parts})
    tags = Tags(exported(agentflow, "html"))
    assert [attributes["src"] for tag, attributes in tags.found if tag == "img"] == [PNG]
    assert "[image_url: https://beacon.example/x.png]" in "".join(tags.texts)


def test_branches_tools_and_times_are_shown(agentflow: Kit) -> None:
    def look(place: str) -> str:
        """Look."""
        return "seen"

    agentflow.agent(
        tools=[look], replies=[{"tool_calls": [call("look", place="there")]}, {"text": "first"}, {"text": "second"}]
    )
    agentflow.send("a question")
    agentflow.edit(agentflow.path()[0]["id"], "another question")
    for format_ in ("md", "html"):
        text = exported(agentflow, format_)
        conversation, _, branch = text.partition("Branch 1")
        assert "another question" in conversation
        assert "second" in conversation
        assert "2030-01-01T09:00:00Z" in conversation
        assert "a question" in branch
        assert "look" in branch
        assert "finished" in branch
        assert "there" in branch
