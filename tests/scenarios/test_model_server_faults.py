"""What a model server can do to a turn, through litellm and to the exit code; the command line runs in this process."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentflow.models.litellm_model import LitellmModel
from agentflow.models.protocol import ModelRequest
from tests.scenarios.model_servers import (
    KEY,
    MODELS,
    SIGNED,
    Desk,
    Project,
    answered,
    asking,
    bases,
    called,
    marking,
    texts,
    thinking,
)
from tests.stub_server import Answer, Call, serve_in_thread

WIRES = ("openai", "anthropic")
NOW = {"retry-after": "0"}
both = pytest.mark.parametrize("desk", WIRES, indirect=True)


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """litellm takes seconds to load: once, before any time limit runs."""
    asyncio.run(LitellmModel("openai/any").warm())


@pytest.fixture
def desk(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Desk]:
    """The project and its server, which speaks OpenAI's format unless a test wants both."""
    wire = getattr(request, "param", "openai")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGENTFLOW_DB", raising=False)
    monkeypatch.setattr("sys.stdin", None)
    with serve_in_thread() as stub:
        project = Project(tmp_path, bases(stub))
        project.write(wire)
        yield Desk(project, stub, wire, capsys)


def tool_results(desk: Desk) -> list[str]:
    """The results the last request ends with, in call order."""
    if desk.wire == "anthropic":
        blocks = [block for block in desk.sent[-1]["content"] if block["type"] == "tool_result"]
        return [json.dumps(block["content"]) for block in blocks]
    return [message["content"] for message in desk.sent if message["role"] == "tool"]


def chunks(*deltas: dict[str, Any], finish: str = "tool_calls", usage: Any = None) -> list[dict[str, Any]]:
    """Raw events of OpenAI's format: one choice each, then the finish."""
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    events = [{"choices": [each]} for each in choices]
    events += [{"choices": [], "usage": usage}] if usage else []
    return [{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", **each} for each in events]


# -- streams that break --------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("cut", ["end", "reset"])
def test_a_stream_cut_after_text_fails_the_turn_and_keeps_the_text(desk: Desk, cut: Any) -> None:
    """B30, T12: the text was shown, so nothing is appended to it; the session goes on with it."""
    done = desk.say("Hi.", Answer(text=["Hello", " wor"], cut=cut))
    assert (done.code, done.error, done.result["answer"]) == (1, "model_error.cut", "Hello wor")
    assert desk.say("Again.", Answer(text="Hello world")).result["answer"] == "Hello world"
    assert len(desk.stub.requests) == 2
    assert [text for message in desk.sent for text in texts(message)][-3:] == ["Hi.", "Hello wor", "Again."]


@both
@pytest.mark.parametrize("cut", ["end", "reset"])
def test_a_whole_call_in_a_cut_stream_is_asked_for_again_and_runs_once(desk: Desk, cut: Any) -> None:
    """B01 (c), B30: nothing was shown, so the reply is asked for again; the call that came first never runs."""
    done = desk.say("Mark.", marking("A", cut=cut), marking("B"), Answer(text="B is marked."))
    assert (done.code, done.result["answer"], desk.project.marks) == (0, "B is marked.", ["B"])
    assert called(desk.sent) == ["call_B"]
    assert desk.project.rows("SELECT attempts FROM llm_call ORDER BY requested_at") == [(2,), (1,)]


# -- tool calls that are not right ---------------------------------------------------------------------------------


@both
def test_no_call_of_a_reply_cut_at_the_output_limit_runs(desk: Desk) -> None:
    """B43 (a, b): two complete calls and one cut one; the model is told, the turn goes on."""
    calls = [
        Call("mark", '{"place": "A"}', id="call_A"),
        Call("mark", '{"place": "B"}', id="call_B"),
        Call("mark", '{"pla', id="call_C"),
    ]
    done = desk.say("Mark.", Answer(calls=calls, finish="length"), Answer(text="Sorry."))
    assert (done.code, done.result["answer"], desk.project.marks) == (0, "Sorry.", [])
    assert answered(desk.sent) == called(desk.sent) == ["call_A", "call_B", "call_C"]
    assert all("cut at the output limit" in text for text in tool_results(desk))


@both
@pytest.mark.parametrize(
    "arguments",
    [
        '{"place": "A',
        '{"place": "A"}{"place": "B"}',
        "[]",
        '"A"',
        "42",
        '{"place": NaN}',
        "{'place': 'A'}",
        '{"place": 1}',
        "",
        "{}",
        "x" * 2_000_000,
    ],
    ids=["cut", "two", "array", "string", "number", "nan", "python", "wrong type", "nothing", "empty", "2 MB"],
)
def test_a_call_with_bad_arguments_does_not_run_and_its_sibling_does(desk: Desk, arguments: str) -> None:
    """B42, B43 (c), T13: an error result with a short preview; what is replayed is a JSON object."""
    calls = [Call("mark", arguments, id="call_bad"), Call("mark", '{"place": "good"}', id="call_good")]
    done = desk.say("Mark.", Answer(calls=calls), Answer(text="Done."))
    assert (done.code, done.result["answer"], desk.project.marks) == (0, "Done.", ["good"])
    bad, good = tool_results(desk)
    assert "good is marked" in good
    assert len(bad) < 2000
    assert "place" in bad or "JSON" in bad
    assert len(json.dumps(desk.sent)) < 10_000
    assert answered(desk.sent) == called(desk.sent) == ["call_bad", "call_good"]


def call(index: int | None, id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}


A, B, C = (json.dumps({"place": place}) for place in "ABC")
FORMS = {
    "in order": [
        call(0, "a", "mark", ""), call(0, None, None, A[:5]), call(0, None, None, A[5:]),
        call(1, "b", "mark", ""), call(1, None, None, B), call(2, "c", "mark", C),
    ],
    "all under index 0": [call(0, "a", "mark", A), call(0, "b", "mark", B), call(0, "c", "mark", C)],
    "interleaved": [
        call(0, "a", "mark", ""), call(1, "b", "mark", ""), call(2, "c", "mark", ""),
        call(2, None, None, C[:6]), call(0, None, None, A[:4]), call(1, None, None, B[:9]),
        call(0, None, None, A[4:]), call(2, None, None, C[6:]), call(1, None, None, B[9:]),
    ],
    "one without an id": [call(0, "a", "mark", A), call(1, None, "mark", B), call(2, "c", "mark", C)],
    "one id for all": [call(0, "a", "mark", A), call(1, "a", "mark", B), call(2, "a", "mark", C)],
    "a name in two pieces": [
        call(0, "a", "ma", ""), call(0, None, "rk", ""), call(0, None, None, A), call(1, "b", "mark", B),
        call(2, "c", "mark", C),
    ],
    "no index": [call(None, "a", "mark", A), call(None, "b", "mark", B), call(None, "c", "mark", C)],
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_parallel_calls_are_told_apart_in_every_form(desk: Desk, form: str) -> None:
    """B28, T14: three calls with the right names and arguments, each under an id of its own."""
    done = desk.say("Mark.", Answer(events=chunks(*FORMS[form])), Answer(text="Done."))
    assert (done.code, done.result["answer"], desk.project.marks) == (0, "Done.", ["A", "B", "C"])
    (message,) = [each for each in desk.sent if each.get("tool_calls")]
    assert [(each["function"]["name"], each["function"]["arguments"]) for each in message["tool_calls"]] == [
        ("mark", A),
        ("mark", B),
        ("mark", C),
    ]
    assert len(set(called(desk.sent))) == 3
    assert answered(desk.sent) == called(desk.sent)


def test_a_call_without_a_name_is_an_error_result(desk: Desk) -> None:
    """B28: not a crash."""
    events = chunks(call(0, "a", None, A), call(1, "b", "mark", B))
    done = desk.say("Mark.", Answer(events=events), Answer(text="Done."))
    assert (done.code, desk.project.marks) == (0, ["B"])
    assert "names no tool" in tool_results(desk)[0]


@both
def test_a_tool_that_fails_is_a_result(desk: Desk) -> None:
    """T14: one exception becomes one error result."""
    calls = [Call("fallible", A, id="call_A"), Call("mark", B, id="call_B")]
    done = desk.say("Mark.", Answer(calls=calls), Answer(text="Done."))
    assert (done.code, desk.project.marks) == (0, ["B"])
    assert "there is no A" in tool_results(desk)[0]


# -- replies with nothing in them ----------------------------------------------------------------------------------

USED = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
EMPTY = {
    "nothing": Answer(text=""),
    "blanks": Answer(text="   "),
    "a list": Answer(events=chunks({"role": "assistant", "content": []}, finish="stop", usage=USED)),
    "null": Answer(events=chunks({"role": "assistant", "content": None}, finish="stop", usage=USED)),
    "only reasoning": Answer(reasoning=["Hm."]),
}


@pytest.mark.parametrize(
    ("desk", "kind"),
    [(wire, kind) for wire in WIRES for kind in EMPTY if wire == "openai" or EMPTY[kind].events is None],
    indirect=["desk"],
)
def test_a_silent_end_ends_the_turn_and_nothing_empty_is_sent_later(desk: Desk, kind: str) -> None:
    """B37, T12: the strict server refuses empty texts; the second turn is accepted."""
    done = desk.say("Mark.", marking("A"), EMPTY[kind])
    assert (done.code, done.result["answer"], done.result["error"]) == (0, None, None)
    assert desk.say("Again.", Answer(text="Yes?")).result["answer"] == "Yes?"


@both
@pytest.mark.parametrize("text", ["", "  "])
def test_a_reply_of_calls_only_is_sent_without_a_text(desk: Desk, text: str) -> None:
    """B37."""
    assert desk.say("Mark.", marking("A", text=text), Answer(text="Done.")).code == 0
    assert desk.say("Again.", Answer(text="Yes?")).code == 0


# -- refusals ------------------------------------------------------------------------------------------------------


@both
def test_a_rate_limit_is_waited_for_as_told(desk: Desk) -> None:
    """T16: `Retry-After` is honoured, the user sees one answer."""
    done = desk.say("Hi.", Answer(status=429, error="slow down", headers=NOW), Answer(text="Hello."))
    assert (done.code, done.result["answer"]) == (0, "Hello.")
    assert len(desk.stub.requests) == 2
    assert desk.project.rows("SELECT attempts FROM llm_call") == [(2,)]


@both
@pytest.mark.parametrize(
    ("status", "code", "attempts"),
    [
        (400, "model_error.bad_request", 1),
        (401, "model_error.auth", 1),
        (404, "model_error.bad_request", 1),
        (429, "model_error.rate_limited", 2),
        (500, "model_error.unavailable", 2),
    ],
)
def test_a_refusal_fails_the_turn_with_a_code_and_the_servers_words(
    desk: Desk, status: int, code: str, attempts: int
) -> None:
    """T16: a sentence a person can act on, exit 1, without the key; the session goes on."""
    desk.project.write(desk.wire, settings={"llm_retries": 1})
    refusal = Answer(status=status, error=f"No way, says {KEY}", headers=NOW)
    done = desk.say("Hi.", *[refusal] * attempts)
    assert (done.code, done.error, len(desk.stub.requests)) == (1, code, attempts)
    assert "No way" in done.result["error"]["message"]
    assert f"error ({code}): " in done.err
    assert KEY not in done.out + done.err
    assert "Traceback" not in done.err
    assert desk.say("Again.", Answer(text="Hello.")).result["answer"] == "Hello."


@both
def test_a_conversation_too_long_for_the_model_is_an_overflow(desk: Desk) -> None:
    """X16: told from other 400s; there is nothing to summarize in a first message, so the turn fails."""
    long = Answer(status=400, error="prompt is too long: 205000 tokens > 200000 maximum")
    done = desk.say("Hi.", long, long, long)
    assert (done.code, done.error) == (1, "context_overflow")


@both
def test_nobody_at_the_address_fails_the_turn(desk: Desk) -> None:
    """T16: connection refused."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        desk.project.bases = dict.fromkeys(WIRES, f"http://127.0.0.1:{free.getsockname()[1]}")
        desk.project.write(desk.wire, settings={"llm_retries": 0})
        done = desk.say("Hi.")
    assert (done.code, done.error) == (1, "model_error.unavailable")
    assert "address" in done.result["error"]["message"]


@pytest.mark.parametrize(
    ("desk", "hang"), [("openai", "first"), ("openai", "finish"), ("anthropic", "finish")], indirect=["desk"]
)
def test_a_server_that_never_ends_is_left_when_the_time_of_the_turn_is_up(desk: Desk, hang: Any) -> None:
    """Limits: `--timeout`; the server sees the connection close although this process lives on."""
    done = desk.say("Hi.", Answer(text="One,", hang=hang), options=["--timeout", "1"])
    assert (done.code, done.error, done.result["limit"]) == (6, "limit_reached", "turn_timeout_secs")
    (received,) = desk.stub.requests
    assert received.left.wait(10)
    assert desk.say("Again.", Answer(text="Hello.")).code == 0


@both
def test_a_server_that_never_answers_is_a_timeout_of_the_model(desk: Desk) -> None:
    """Limits: an interface's `timeout_secs`."""
    desk.project.write(desk.wire, settings={"llm_retries": 0}, timeout_secs=1)
    done = desk.say("Hi.", Answer(hang="first"))
    assert (done.code, done.error) == (1, "model_error.timeout")
    assert desk.stub.requests[0].left.wait(10)


@both
def test_a_call_given_up_before_it_went_out_is_silent(desk: Desk) -> None:
    """Ctrl-C while the library prepares the request: no warning of its coroutines on standard error."""

    async def given_up(steps: int) -> None:
        base = desk.project.bases[desk.wire]
        stream = LitellmModel(MODELS[desk.wire], api_base=base, api_key=KEY).stream(
            ModelRequest("call", "main", [{"role": "user", "content": "Hi."}])
        )
        asking = asyncio.ensure_future(anext(stream))
        for _ in range(steps):
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    for steps in range(8):
        asyncio.run(given_up(steps))
    gc.collect()


# -- usage, and another model --------------------------------------------------------------------------------------


def test_the_last_of_several_usage_reports_counts(desk: Desk) -> None:
    """B33: cumulative reports are not summed, also when the last one comes after the finish without a choice."""
    report = [{"prompt_tokens": 10, "completion_tokens": said, "total_tokens": 10 + said} for said in (1, 40, 47)]
    events = chunks({"content": "Hello"}, {"content": "."}, finish="stop", usage=report[2])
    events[0]["usage"], events[1]["usage"] = report[:2]
    done = desk.say("Hi.", Answer(events=events))
    assert (done.result["usage"]["input"], done.result["usage"]["output"]) == (10, 47)
    assert desk.project.rows("SELECT input, output FROM llm_call") == [(10, 47)]


def test_no_report_is_null_and_not_zero(desk: Desk) -> None:
    """X6."""
    usage = desk.say("Hi.", Answer(text="Hello.", usage=None)).result["usage"]
    assert set(usage.values()) == {None}


@pytest.mark.parametrize("model", ["openai/a@b", "openai/org/name/x"])
def test_an_odd_name_of_a_model_works_and_costs_null(desk: Desk, model: str) -> None:
    """B36."""
    desk.project.write("openai", model=model)
    done = desk.say("Hi.", Answer(text="Hello."))
    assert (done.code, done.result["cost"], done.result["usage"]["total"]) == (0, None, 18)


@pytest.mark.parametrize("desk", ["anthropic"], indirect=True)
@pytest.mark.parametrize(("wire", "model"), [("openai", "openai/other"), ("anthropic", "anthropic/other")])
def test_another_model_never_sees_the_thinking_of_the_first(desk: Desk, wire: str, model: str) -> None:
    """B31, T15: the model is changed while the turn waits for an answer; foreign blocks are left out, calls stay."""
    asked = desk.say("Mark.", marking("A", thinking=SIGNED), asking(thinking=SIGNED))
    assert asked.code == 4
    desk.project.write(wire, model=model)
    desk.stub.add(Answer(text="Done."))
    done = desk.command("answer", "s-1", "--json", "B")
    assert (done.code, done.result["answer"]) == (0, "Done.")
    assert called(desk.sent) == answered(desk.sent) == ["call_A", asked.result["question"]["tool_call_id"]]
    assert thinking(desk.sent) == []
    assert "Which  place?" not in json.dumps(desk.stub.requests[-1].body)


@both
def test_a_title_call_offers_no_tools_and_counts_apart_from_the_turn(desk: Desk) -> None:
    """R7, B71"""
    desk.project.write(desk.wire, settings={"name_chats": True})
    title = Answer(text='"Greeting"', usage={"input": 40, "output": 3})
    done = desk.say("Hi.", Answer(text="Hello.", usage={"input": 100, "output": 10}), title)
    assert (done.result["answer"], done.result["usage"]["input"]) == ("Hello.", 100)
    first, named = desk.stub.requests
    assert (bool(first.body.get("tools")), bool(named.body.get("tools"))) == (True, False)
    shown = json.loads(desk.command("sessions", "show", "s-1", "--json").out)
    assert (shown["name"], shown["totals"]["input"]) == ("Greeting", 140)
