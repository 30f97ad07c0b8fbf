"""W4: files in messages and results, from the door to the provider and back, on both databases."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from agentflow import FlowContext, InvalidInput, ModelError, ModelRequest, ScriptedModel
from agentflow.testing import Kit
from tests.both_databases import on_both_databases
from tests.pictures import part, pdf, png, url
from tests.scenarios.support import call, rows, said

agentflow_db = on_both_databases

CAT = png(said=b"a cat")


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "see"}, *parts]}


def blobs(kit: Kit) -> list[str]:
    return [hash_ for (hash_,) in rows(kit._db, "SELECT hash FROM blob WHERE hash LIKE 'file-%'")]


def test_a_picture_is_kept_once_and_sent_in_the_providers_form_in_every_turn(agentflow: Kit) -> None:
    """R3: also where it comes again, in a later message or on another branch."""
    agentflow.agent(replies=lambda request: {"text": "a cat"})
    agentflow.send(user(part(CAT, "cat.png")))
    agentflow.send(user(part(CAT, "again.png")))
    agentflow.edit(agentflow.path()[0]["id"], "no picture")
    assert [content for role, content in said(agentflow.requests[1]) if role == "user"] == [
        [{"type": "text", "text": "see"}, url(CAT)]
    ] * 2
    assert len(blobs(agentflow)) == 1


def test_nothing_that_is_told_has_the_bytes(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "a cat"}])
    agentflow.send(user(part(CAT, "cat.png")))
    body = base64.b64encode(CAT).decode()
    told = [agentflow.path(), [event.data for event in agentflow.events()], agentflow.session(), agentflow.status()]
    assert body not in repr(told)
    assert "cat.png" in repr(told)


def test_a_message_read_back_names_its_file_by_hash_and_no_other_can(agentflow: Kit) -> None:
    """C9: a view sends back what it read; a hash of another session, or of a prompt, is refused."""
    agentflow.agent(replies=lambda request: {"text": "a cat"})
    agentflow.send(user(part(CAT)))
    shown = agentflow.path()[0]["content"][1]
    agentflow.send(user(shown))
    assert said(agentflow.requests[-1])[-1][1][1] == url(CAT)
    for hash_ in (shown["hash"].replace(shown["hash"][-3:], "000"), "file-" + "0" * 32):
        with pytest.raises(InvalidInput, match="no file"):
            agentflow.send(user({**shown, "hash": hash_}), "s-1")
    with pytest.raises(InvalidInput, match="no file"):
        agentflow.send(user(shown), "s-2")


def test_a_flow_gives_files_along_and_the_model_sees_them_after_the_results(agentflow: Kit) -> None:
    """T14: results stand directly after their calls; what no model takes is a note in the result."""

    def look(ctx: FlowContext, at: str) -> str:
        """Look."""
        ctx.attach(png(said=at.encode()), name=f"{at}.png")
        ctx.attach(b"<svg/>", name="x.svg")
        return f"looked at {at}"

    calls = {"tool_calls": [call("look", at="one"), call("look", at="two")]}
    agentflow.agent(tools=[look], replies=[calls, {"text": "ok"}, {"text": "later"}])
    agentflow.send("look")
    *_, first, second, seen = said(agentflow.requests[-1])
    assert [role for role, _ in (first, second, seen)] == ["tool", "tool", "user"]
    assert first[1].splitlines()[0] == "looked at one"
    assert "x.svg (image/svg+xml, 6 bytes) left out" in first[1]
    assert seen[1] == [
        {"type": "text", "text": f"[result of look: image one.png (image/png, {len(png(said=b'one'))} bytes)]"},
        url(png(said=b"one")),
        {"type": "text", "text": f"[result of look: image two.png (image/png, {len(png(said=b'two'))} bytes)]"},
        url(png(said=b"two")),
    ]
    assert len(blobs(agentflow)) == 2
    agentflow.restart()
    agentflow.send("and now?")
    assert "image_url" not in repr(agentflow.requests[-1].messages)  # X1: results of earlier turns are not read


def test_a_model_that_cannot_read_a_kind_gets_a_note(agentflow: Kit) -> None:
    model = ScriptedModel(lambda request: {"text": "no"})
    model.reads = frozenset({"pdf"})
    agentflow.agent(model=model)
    agentflow.send(user(part(CAT, "cat.png"), part(pdf(), "a.pdf")))
    content = model.requests[-1].messages[-1]["content"]
    assert content[1]["text"] == f"[image cat.png (image/png, {len(CAT)} bytes) left out: this model cannot read it]"
    assert content[2]["file"]["filename"] == "a.pdf"


def refusing(*words: str) -> Any:
    """A model whose provider refuses these, by their words, with the sentence that goes with them."""

    def answer(request: ModelRequest) -> dict[str, Any]:
        text = repr(request.messages)
        for word in words:
            if word in text:
                raise ModelError("bad_request", f"messages.1.content.0: Could not process {word}")
        return {"text": "hello"}

    return answer


def test_a_file_that_the_provider_refuses_is_left_out_and_the_turn_goes_on(agentflow: Kit) -> None:
    """F37: so is every later turn, in another process too, without asking again."""
    agentflow.agent(replies=refusing("image_url"))
    agentflow.send(user(part(CAT, "cat.png"), part(pdf(), "a.pdf")))
    last = agentflow.requests[-1].messages[-1]["content"]
    assert last[1]["text"].endswith("left out: the provider did not take it]")
    asked = len(agentflow.requests)
    agentflow.restart()
    assert agentflow.send("hello").answer == "hello"
    assert len(agentflow.requests) == asked + 1
