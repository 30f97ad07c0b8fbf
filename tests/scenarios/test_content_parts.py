"""W4: files in messages and results, from the door to the provider and back, on both databases."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from agentflow import FlowContext, InvalidInput, ModelError, ModelRequest, ScriptedModel, TurnAlreadyActive
from agentflow.testing import Kit, ProcessKilled
from tests.both_databases import on_both_databases
from tests.pictures import part, pdf, png, url
from tests.scenarios.records.test_moving import bring, exported
from tests.scenarios.rooms import answering, chatty, of_purpose, over, replaced
from tests.scenarios.support import Gate, call, rows, said
from tests.scenarios.test_damage import change

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


def test_another_provider_is_asked_for_the_file_that_one_refused(agentflow: Kit) -> None:
    """What was refused is known of that model alone."""
    agentflow.agent(replies=refusing("image_url"))
    agentflow.send(user(part(CAT)))
    agentflow.agent(model=(other := ScriptedModel(lambda request: {"text": "a cat"}, name="other")))
    agentflow.send("again")
    assert url(CAT) in other.requests[-1].messages[1]["content"]


def message(said: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "client.message", "message": said, **more}


def test_a_refusal_that_names_no_file_fails_the_turn_as_before(agentflow: Kit) -> None:
    def answer(request: ModelRequest) -> dict[str, Any]:
        raise ModelError("bad_request", "messages.1: temperature is not supported")

    agentflow.agent(replies=answer)
    failed = agentflow.send(user(part(CAT)))
    assert (failed.state, len(agentflow.requests)) == ("failed", 1)


def test_the_exact_request_is_made_again_with_its_files_and_what_was_left_out(agentflow: Kit) -> None:
    """R5"""
    agentflow.agent(replies=refusing("image_url"))
    agentflow.send(user(part(CAT, "cat.png"), part(pdf(), "a.pdf")))
    again = agentflow.run(agentflow.runtime.records.request("s-1", 1))
    assert again["messages"] == agentflow.requests[-1].messages
    assert "file_data" in repr(again)


@pytest.mark.parametrize("commit", range(1, 5))
def test_bytes_and_the_message_that_names_them_are_there_together_or_not_at_all(agentflow: Kit, commit: int) -> None:
    """F49, C36: whatever commit is the last."""

    def look(ctx: FlowContext) -> str:
        """Look."""
        ctx.attach(png(said=b"seen"), name="seen.png")
        return "looked"

    calls = {"tool_calls": [call("look")]}
    agentflow.agent(tools=[look], replies=lambda request: calls if len(agentflow.requests) == 1 else {"text": "ok"})
    agentflow.kill_after(commit)
    with pytest.raises(ProcessKilled):
        agentflow.send(user(part(CAT)))
    agentflow.reopen()
    named = {hash_ for (parts,) in rows(agentflow._db, "SELECT parts FROM message WHERE parts IS NOT NULL")
             for hash_ in HASHES.findall(parts)}  # fmt: skip
    assert set(blobs(agentflow)) == named
    assert agentflow.send("hello").answer == "ok"


HASHES = re.compile(r"file-[0-9a-f]{32}")


@pytest.mark.parametrize("observed", [True, False])
def test_a_refused_request_leaves_no_bytes_and_an_unobserved_turn_neither(agentflow: Kit, observed: bool) -> None:
    """F49, R5"""
    gate = Gate({"text": "ok"})
    agentflow.agent(replies=[gate], settings={"observability": observed})
    receipt = agentflow.submit(message({"role": "user", "content": "first"}))
    agentflow.until("llm.call.requested", after_seq=receipt.after_seq)
    with pytest.raises(TurnAlreadyActive):
        agentflow.send(user(part(CAT)))
    assert blobs(agentflow) == []
    gate.open()
    agentflow.result(receipt.turn_id)
    agentflow.script([{"text": "ok"}])
    agentflow.send(user(part(CAT)))
    assert len(blobs(agentflow)) == observed


def test_a_file_waits_in_the_queue_and_is_sent_when_its_turn_comes(agentflow: Kit) -> None:
    """C21, C24: also in another process; taken back it leaves nothing."""
    gate = Gate({"text": "one"}, {"text": "two"})
    agentflow.agent(replies=[gate, gate])
    first = agentflow.submit(message({"role": "user", "content": "first"}))
    agentflow.until("llm.call.requested", after_seq=first.after_seq)
    second = agentflow.submit(message(user(part(CAT)), queue=True))
    gone = agentflow.submit(message(user(part(pdf())), queue=True))
    agentflow.stop(turn_id=gone.turn_id)
    gate.open()
    assert agentflow.result(second.turn_id).answer == "two"
    assert said(agentflow.requests[-1])[-1][1][1] == url(CAT)
    assert len(blobs(agentflow)) == 1


def test_pictures_are_no_reason_to_make_room_and_their_bytes_grow_the_file_once(agentflow: Kit) -> None:
    """F43, X5: 3 MB in a message and ten results, a window of 200,000."""
    photo = png(2000, 1500, bytes(3_000_000))

    def look(ctx: FlowContext, number: int) -> str:
        """Look."""
        ctx.attach(photo)
        return "looked"

    replies = [{"tool_calls": [call("look", number=number)]} for number in range(10)]
    agentflow.agent(tools=[look], replies=[*replies, {"text": "ok"}], context={"window": 200_000, **over(100_000)})
    agentflow.send(user(part(photo)))
    assert agentflow.events("context.limited") == []
    ((size,),) = rows(agentflow._db, "SELECT sum(length(body)) FROM blob WHERE hash LIKE 'file-%'")
    assert size < 4_100_000
    assert agentflow.run(agentflow.runtime.explain("test", "s-1"))["tokens"] < 30_000


@pytest.mark.parametrize("use", ["summarize", "reset"])
def test_a_compaction_names_the_files_it_leaves_out_and_checkout_brings_them_back(agentflow: Kit, use: str) -> None:
    """F43, X8, X21: this turn's files stay."""
    keys = {"strategy": [{"use": use, "over_tokens": 500}]}
    agentflow.agent(
        replies=answering(lambda request: {"text": "They talked."}, chatty), context={"window": 9000, **keys}
    )
    agentflow.send(user(part(CAT, "cat.png")))
    agentflow.send(user(part(pdf(), "a.pdf")))
    request = agentflow.requests[-1]
    summary = f"image cat.png (image/png, {len(CAT)} bytes) left out"
    if use == "summarize":
        (asked,) = of_purpose(agentflow.requests, "summary")
        assert f"[{summary}]" in asked.messages[-1]["content"]
        assert summary in request.messages[1]["content"]
    assert "image_url" not in repr(request.messages)
    assert request.messages[-1]["content"][1]["file"]["filename"] == "a.pdf"
    before = replaced(agentflow)[-1].data["previous_head_id"]
    agentflow.restart()
    agentflow.checkout(before)
    assert "cat.png" in repr(agentflow.path())
    (kept,) = [each for each in agentflow.path()[0]["content"] if each["type"] == "image"]
    assert agentflow.run(agentflow.runtime.records.file("s-1", kept["hash"]))["data"] == CAT


def test_a_summary_of_a_summary_names_on_what_the_first_left_out(agentflow: Kit) -> None:
    agentflow.agent(
        replies=answering(lambda request: {"text": "They talked."}, chatty), context={"window": 9000, **over(300)}
    )
    agentflow.send(user(part(CAT, "cat.png")))
    agentflow.send("second")
    agentflow.send("third")
    assert len(replaced(agentflow)) == 2
    assert agentflow.requests[-1].messages[1]["content"].count("cat.png") == 1


def test_a_client_gives_a_file_as_the_result_of_its_tool(agentflow: Kit) -> None:
    """C39"""
    show = {"name": "shoot", "description": "Takes a picture."}
    agentflow.agent(replies=[{"tool_calls": [call("shoot")]}, {"text": "a cat"}])
    paused = agentflow.deliver(message({"role": "user", "content": "shoot"}, tools=[show]))
    result = {"role": "tool", "tool_call_id": paused.calls[0]["tool_call_id"], "content": user(part(CAT))["content"]}
    assert agentflow.deliver({"type": "client.append", "messages": [result]}).answer == "a cat"
    *_, told, seen = agentflow.requests[-1].messages
    assert (told["content"], seen["content"][1]) == ("see", url(CAT))


def test_a_sub_agent_is_handed_the_message_with_its_file(agentflow: Kit) -> None:
    """T22"""
    agentflow.agent("sub", replies=[{"text": "a cat"}])
    agentflow.agent(
        "main", sub_agents=["sub"], replies=[{"tool_calls": [call("delegate", agent="sub", message="look")]}]
    )
    agentflow.send(user(part(CAT)))
    assert url(CAT) in agentflow.requests_of("sub")[0].messages[-1]["content"]


def test_a_session_with_files_is_moved_whole_and_shown_to_people(agentflow: Kit) -> None:
    """R12"""
    agentflow.agent(replies=lambda request: {"text": "a cat"})
    agentflow.send(user(part(CAT, "cat.png")))
    body = base64.b64encode(CAT).decode()
    for format_ in ("json", "jsonl"):
        text = exported(agentflow, format_)
        bring(agentflow, text, session_id=f"s-{format_}")
        agentflow.send("and?", f"s-{format_}")
        assert url(CAT) in agentflow.requests[-1].messages[1]["content"]
    assert f"[image cat.png (image/png, {len(CAT)} bytes)]" in exported(agentflow, "md")
    assert f'src="data:image/png;base64,{body}"' in exported(agentflow, "html")
    broken = exported(agentflow, "json").replace(body, base64.b64encode(png()).decode())
    with pytest.raises(InvalidInput, match="hash of the body"):
        bring(agentflow, broken, session_id="s-9")


def test_a_secret_in_a_text_file_is_in_no_export(agentflow: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z4"""
    agentflow.agent(replies=[{"text": "ok"}])
    agentflow.send(user(part(b"the key is canary-9876543210", "notes.txt")))
    monkeypatch.setenv("MY_API_KEY", "canary-9876543210")
    text = exported(agentflow, "json")
    bring(agentflow, text, session_id="s-2")
    (kept,) = [each for each in agentflow.path("s-2")[0]["content"] if each["type"] == "file"]
    data = agentflow.run(agentflow.runtime.records.file("s-2", kept["hash"]))["data"]
    assert data == b"the key is ${MY_API_KEY}"
    agentflow.run(agentflow.runtime.delete("s-2"))


def test_a_message_whose_file_is_gone_is_damage_that_is_named_and_the_turn_goes_on(agentflow: Kit) -> None:
    """Z1, R6"""
    agentflow.agent(replies=lambda request: {"text": "ok"})
    agentflow.send(user(part(CAT, "cat.png")))
    agentflow.send("again")
    compared = agentflow.run(agentflow.runtime.records.diff(("s-1", 1), ("s-1", 2)))
    assert base64.b64encode(CAT).decode() not in repr(compared)
    change(agentflow._db, "DELETE FROM blob WHERE hash LIKE 'file-%'")
    found = agentflow.run(agentflow.runtime.records.check())
    assert [(each["table"], each["column"]) for each in found] == [("message", "parts")]
    agentflow.restart()
    assert agentflow.send("and now?").answer == "ok"
    assert "not there any more" in repr(agentflow.requests[-1].messages)
    agentflow.run(agentflow.runtime.delete("s-1"))
