"""The same claims of every `Model`: the scripted one, and litellm's over a provider on loopback in both formats."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from agentflow.errors import ModelError
from agentflow.message import Usage
from agentflow.models.assembly import Assembler, RawCall, Reply
from agentflow.models.litellm_model import LitellmModel
from agentflow.models.protocol import Model, ModelRequest, TextDelta
from agentflow.models.scripted_model import ScriptedModel
from tests.stub_server import Answer, Call, Received, StubServer

ADAPTERS = ("scripted", "openai", "anthropic")
WIRES = ("openai", "anthropic")
MODELS = {"openai": "openai/my-local-thing", "anthropic": "anthropic/my-claude"}
TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}
CALLS = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
RESULT = {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "seen"}
SIGNED = [
    {"type": "thinking", "thinking": "abc def", "signature": "S1=="},
    {"type": "thinking", "thinking": "", "signature": "S2=="},
    {"type": "redacted_thinking", "data": "RRR"},
]


@pytest.fixture(scope="module", autouse=True)
def _warm() -> Iterator[None]:
    """litellm takes seconds to import, and cannot build its classes under a frozen clock: once, before anything."""
    asyncio.run(LitellmModel("openai/any").warm())
    return


def request(*messages: dict[str, Any], tools: bool = False) -> ModelRequest:
    return ModelRequest("call", "main", list(messages) or [user("hi")], [TOOL] if tools else ())


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def litellm_model(adapter: str, stub: StubServer, **options: Any) -> LitellmModel:
    base = stub.openai_base if adapter == "openai" else stub.anthropic_base
    return LitellmModel(MODELS[adapter], api_base=base, api_key="horse-battery", **options)


@contextlib.asynccontextmanager
async def model_of(adapter: str, answer: Answer) -> AsyncIterator[Model]:
    if adapter == "scripted":
        yield ScriptedModel([scripted(answer)])
        return
    async with StubServer([answer]) as stub:
        yield litellm_model(adapter, stub)


KINDS = {429: "rate_limited", 500: "unavailable", 401: "auth", 404: "bad_request", 413: "context_overflow"}


def scripted(answer: Answer) -> dict[str, Any]:
    """The same answer as a scripted reply."""
    if answer.status != 200:
        wait = answer.headers.get("retry-after")
        return {"error": {"kind": KINDS[answer.status], **({"retry_after": float(wait)} if wait else {})}}
    reply: dict[str, Any] = {
        "text": "".join(answer.text),
        "chunk_size": 2,
        "reasoning": "".join(answer.reasoning),
        "usage": answer.usage,
        "tool_calls": [{"name": call.name, "arguments": call.arguments, "id": call.id} for call in answer.calls],
    }
    if answer.finish:
        reply["finish_reason"] = answer.finish
    if answer.cut:
        reply["error"] = {"kind": "cut"}
    return reply


async def outcome(model: Model, asked: ModelRequest) -> tuple[Reply, ModelError | None]:
    assembler = Assembler()
    try:
        async for delta in model.stream(asked):
            assembler.feed(delta)
    except ModelError as error:
        return assembler.reply(), error
    return assembler.reply(), None


def answered(adapter: str, answer: Answer, asked: ModelRequest | None = None) -> tuple[Reply, ModelError | None]:
    async def run() -> tuple[Reply, ModelError | None]:
        async with model_of(adapter, answer) as model:
            return await outcome(model, asked or request())

    return asyncio.run(run())


def over_the_wire(
    adapter: str, *asked: ModelRequest, answers: list[Answer] | None = None, **options: Any
) -> tuple[list[Received], list[tuple[Reply, ModelError | None]]]:
    """What the provider received, and what came back, of requests made one after the other."""

    async def run() -> tuple[list[Received], list[tuple[Reply, ModelError | None]]]:
        async with StubServer(answers or [Answer(text="ok") for _ in asked]) as stub:
            model = litellm_model(adapter, stub, **options)
            outcomes = [await outcome(model, each) for each in asked]
            return stub.requests, outcomes

    return asyncio.run(run())


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_text_comes_in_deltas_that_make_the_whole(adapter: str) -> None:
    async def run() -> list[str]:
        async with model_of(adapter, Answer(text=["He", "ll", "o"])) as model:
            deltas = [delta async for delta in model.stream(request())]
            return [delta.text for delta in deltas if isinstance(delta, TextDelta)]

    assert asyncio.run(run()) == ["He", "ll", "o"]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_reply_has_text_usage_and_a_finish_reason(adapter: str) -> None:
    """T12, X6: a model nobody knows the price of costs null, not 0 (B36)."""
    reply, error = answered(adapter, Answer(text="Hello", usage={"input": 11, "output": 7}))
    assert error is None
    assert (reply.text, reply.finish_reason, reply.tool_calls) == ("Hello", "stop", ())
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output, reply.usage.cost) == (11, 7, None)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_parallel_calls_keep_ids_names_and_arguments(adapter: str) -> None:
    """T14, B28"""
    calls = [
        Call("look", '{"at": "Rom\u00e9"}', "id-1", pieces=4),
        Call("look", '{"at": "Paris"}', "id-2"),
        Call("stop", "{}", "id-3"),
    ]
    reply, error = answered(adapter, Answer(text="Let me look.", calls=calls), request(tools=True))
    assert (error, reply.text, reply.finish_reason) == (None, "Let me look.", "tool_calls")
    assert reply.tool_calls == tuple(RawCall(call.id, call.name, call.arguments) for call in calls)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_reasoning_is_apart_from_the_answer(adapter: str) -> None:
    """T15"""
    reply, _ = answered(adapter, Answer(text="42", reasoning=["hm, ", "well"]))
    assert (reply.text, reply.reasoning) == ("42", "hm, well")


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_the_finish_reason_is_the_providers(adapter: str, reason: str) -> None:
    """T12: where a refusal has a word of its own it is one."""
    told = "refusal" if (adapter, reason) == ("anthropic", "content_filter") else reason
    assert answered(adapter, Answer(text="half", finish=reason))[0].finish_reason == told


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("cut", ["end", "reset"])
@pytest.mark.parametrize("text", ["Hello wor", ""])
def test_a_cut_stream_is_an_error_that_keeps_what_came(adapter: str, cut: Any, text: str) -> None:
    """T12, B30"""
    reply, error = answered(adapter, Answer(text=text, cut=cut))
    assert error is not None
    assert (error.kind, reply.text, reply.finish_reason) == ("cut", text, None)


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("status", KINDS)
def test_a_refusal_has_its_kind(adapter: str, status: int) -> None:
    """T16, X16"""
    _, error = answered(adapter, Answer(status=status, error="no"))
    assert error is not None
    assert error.kind == KINDS[status]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_rate_limit_says_how_long_to_wait(adapter: str) -> None:
    """T16"""
    _, error = answered(adapter, Answer(status=429, error="slow down", headers={"retry-after": "7"}))
    assert error is not None
    assert error.retry_after == 7.0


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_request_is_left_as_it_was(adapter: str) -> None:
    """The history is shared by all requests of a session: an adapter that changed it would change the next one."""
    blocks = {"role": "assistant", "content": None, "tool_calls": CALLS, "thinking_blocks": SIGNED}
    asked = request(system("P"), system("S"), user("hi"), copy.deepcopy(blocks), RESULT, tools=True)
    before = copy.deepcopy(asked)
    answered(adapter, Answer(text="ok"), asked)
    assert asked == before


@pytest.mark.parametrize("adapter", WIRES)
@pytest.mark.parametrize("hang", ["first", "finish"])
def test_cancelling_closes_the_connection(adapter: str, hang: Any) -> None:
    """T23: before the first byte and in the middle of the stream."""

    async def run() -> None:
        async with StubServer([Answer(text="Hello", hang=hang)]) as stub:
            shown = asyncio.Event()
            task = asyncio.create_task(_read(litellm_model(adapter, stub), shown))
            await stub.asked.wait()
            if hang == "finish":
                await shown.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.wait_for(stub.requests[0].gone.wait(), 10)

    asyncio.run(run())


async def _read(model: Model, shown: asyncio.Event) -> None:
    async for _ in model.stream(request()):
        shown.set()


@pytest.mark.parametrize("adapter", WIRES)
def test_closing_the_stream_closes_the_connection(adapter: str) -> None:
    """T23"""

    async def run() -> None:
        async with StubServer([Answer(text="Hello", hang="finish")]) as stub:
            stream = litellm_model(adapter, stub).stream(request())
            await anext(stream)
            await stream.aclose()
            assert await asyncio.wait_for(stub.requests[0].gone.wait(), 10)

    asyncio.run(run())


@pytest.mark.parametrize("adapter", WIRES)
def test_connections_can_be_closed_but_not_under_a_stream(adapter: str) -> None:
    """Models share them: closing one runtime must not cut the stream of another; afterwards they open again."""

    async def run() -> list[str]:
        answers = [Answer(text=["a", "b"], delay_secs=0.01), Answer(text="c")]
        async with StubServer(answers) as stub:
            one, other = litellm_model(adapter, stub), litellm_model(adapter, stub)
            texts = []
            for model in (one, other):
                async for delta in model.stream(request()):
                    await other.close()
                    texts += [delta.text] if isinstance(delta, TextDelta) else []
                await other.close()
            return texts

    assert asyncio.run(run()) == ["a", "b", "c"]


@pytest.mark.parametrize("adapter", WIRES)
@pytest.mark.parametrize(
    "answer",
    [Answer(hang="first"), Answer(text="x", hang="finish"), Answer(text=["x"] * 999, delay_secs=0.01)],
    ids=["no first byte", "no finish", "a drip"],
)
def test_the_time_limit_holds_for_the_wait_and_for_the_whole_stream(adapter: str, answer: Answer) -> None:
    """T16: it is the caller's; a drip of bytes does not outwit it, and the provider sees the connection close."""

    async def run() -> bool:
        async with StubServer([answer]) as stub:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await outcome(litellm_model(adapter, stub), request())
            return await asyncio.to_thread(stub.requests[0].left.wait, 10)

    assert asyncio.run(run())


@pytest.mark.parametrize("adapter", WIRES)
def test_nothing_is_tried_twice(adapter: str) -> None:
    """T16, dependencies 2.1.5: retries are ours to decide."""
    received, _ = over_the_wire(adapter, request(), answers=[Answer(status=500, error="boom"), Answer(text="ok")])
    assert len(received) == 1


@pytest.mark.parametrize("adapter", WIRES)
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("prompt is too long: 3 > 2", "context_overflow"),
        ("Your input exceeds the context window of this model.", "context_overflow"),
        ("range of input length should be [1, 100]", "context_overflow"),
        ("max_tokens is too large: 99999", "bad_request"),
    ],
)
def test_overflow_is_told_from_its_look_alikes(adapter: str, text: str, kind: str) -> None:
    """B26, X16"""
    assert _kind(over_the_wire(adapter, request(), answers=[Answer(status=400, error=text)])) == kind


@pytest.mark.parametrize("adapter", WIRES)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"type": "invalid_request_error", "message": "prompt is too long: 3 > 2"}, "context_overflow"),
        ({"type": "overloaded_error", "message": "Overloaded"}, "unavailable"),
    ],
)
def test_an_error_inside_a_200_stream_is_classified_too(adapter: str, fault: dict[str, str], kind: str) -> None:
    """X16, notes 5"""
    answer = Answer(text="x", late_error={"type": "error", "error": fault})
    assert _kind(over_the_wire(adapter, request(), answers=[answer])) == kind


def _kind(seen: tuple[list[Received], list[tuple[Reply, ModelError | None]]]) -> str | None:
    error = seen[1][0][1]
    return error.kind if error else None


@pytest.mark.parametrize("adapter", WIRES)
def test_the_key_is_not_in_the_error(adapter: str) -> None:
    """A3"""
    answer = Answer(status=401, error="Incorrect API key provided: horse-battery")
    _, [(_, error)] = over_the_wire(adapter, request(), answers=[answer])
    assert error is not None
    assert "horse" not in str(error)
    assert error.__cause__ is None


def test_nobody_at_the_address_is_unavailable() -> None:
    """T16, B36: names with '@' and with two slashes are no matter."""
    for name in ("openai/a@b", "openai/a/b/c"):
        model = LitellmModel(name, api_base="http://127.0.0.1:9/v1", api_key="k")
        _, error = asyncio.run(outcome(model, request()))
        assert error is not None
        assert error.kind == "unavailable"


def test_a_model_string_without_a_provider_is_a_bad_request() -> None:
    _, error = asyncio.run(outcome(LitellmModel("nothing-like-it"), request()))
    assert error is not None
    assert error.kind == "bad_request"


@pytest.mark.parametrize("adapter", WIRES)
def test_no_report_is_no_usage(adapter: str) -> None:
    """X5, X6: nothing is estimated, and zero input is not a number of tokens."""
    _, [(reply, _)] = over_the_wire(adapter, request(), answers=[Answer(text="x", usage=None)])
    assert reply.usage is None or reply.usage.input is None


@pytest.mark.parametrize(
    ("adapter", "usage"),
    [("openai", Usage(2110, 7, 2000, None)), ("anthropic", Usage(2110, 7, 2000, 100))],
)
def test_input_includes_what_was_cached(adapter: str, usage: Usage) -> None:
    """X6, B33"""
    counted = {"input": 2110, "output": 7, "cache_read": 2000, "cache_write": 100}
    _, [(reply, _)] = over_the_wire(adapter, request(), answers=[Answer(text="x", usage=counted)])
    assert reply.usage == usage


def test_the_last_of_several_usage_reports_wins() -> None:
    """B33: 10/1, 10/40, 10/47."""
    chunks = [
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
         "choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": finish}],
         "usage": {"prompt_tokens": 10, "completion_tokens": output, "total_tokens": 10 + output}}
        for output, finish in ((1, None), (40, None), (47, "stop"))
    ]  # fmt: skip
    _, [(reply, _)] = over_the_wire("openai", request(), answers=[Answer(events=chunks)])
    assert reply.usage == Usage(10, 47)


def test_a_known_model_has_a_price() -> None:
    """X6: from the table inside the package, cached tokens at their own price."""

    async def run() -> Usage | None:
        counted = {"input": 2110, "output": 7, "cache_read": 2000, "cache_write": 100}
        async with StubServer([Answer(text="x", usage=counted)]) as stub:
            model = LitellmModel("anthropic/claude-sonnet-4-5", api_base=stub.anthropic_base, api_key="k")
            return (await outcome(model, request()))[0].usage

    usage = asyncio.run(run())
    assert usage is not None
    assert str(usage.cost) == "0.00111"  # 10 x 3 + 2000 x 0.30 + 100 x 3.75 + 7 x 15 dollars a million


def test_signed_reasoning_goes_back_as_it_came() -> None:
    """T15, B31: signed text, signed and empty, redacted; byte for byte and in order."""
    answers = [Answer(text="Let me look.", thinking=SIGNED, calls=[Call("look", "{}", "c1")]), Answer(text="ok")]

    async def run() -> tuple[Reply, list[dict[str, Any]]]:
        async with StubServer(answers) as stub:
            model = litellm_model("anthropic", stub)
            reply, _ = await outcome(model, request(tools=True))
            assert reply.provider is not None
            asking = {"role": "assistant", "content": reply.text, "tool_calls": CALLS, **reply.provider}
            await outcome(model, request(user("hi"), asking, RESULT, tools=True))
            return reply, stub.requests[1].messages[1]["content"]

    reply, replayed = asyncio.run(run())
    assert (reply.reasoning, reply.provider) == ("abc def", {"thinking_blocks": SIGNED})
    assert replayed[:3] == SIGNED
    assert [block["type"] for block in replayed[3:]] == ["text", "tool_use"]


def test_plain_reasoning_goes_back_beside_the_message() -> None:
    """T15: for providers that want to read it again."""
    _, [(reply, _)] = over_the_wire("openai", request(), answers=[Answer(reasoning=["hm, ", "well"], text="42")])
    assert reply.provider == {"reasoning_content": "hm, well"}
    asking = {"role": "assistant", "content": "b", **reply.provider}
    received, _ = over_the_wire("openai", request(user("a"), asking, user("c")))
    assert received[0].messages[1]["reasoning_content"] == "hm, well"


def test_system_text_of_a_step_stays_where_it_stands() -> None:
    """X4: where system text has a place of its own, it would move there and change the cached prefix."""
    first = request(system("Prompt"), system("Today"), user("one"))
    second = request(system("Prompt"), user("one"), {"role": "assistant", "content": "1"}, system("Plan"), user("two"))
    received, _ = over_the_wire("anthropic", first, second)
    assert [[block["text"] for block in each.body["system"]] for each in received] == [["Prompt"]] * 2
    texts = [block["text"] for block in received[1].messages[2]["content"]]
    assert texts == ["[Instruction from the application, not from the user]\nPlan", "two"]
    received, _ = over_the_wire("openai", second)
    assert [message["role"] for message in received[0].messages] == ["system", "user", "assistant", "system", "user"]


@pytest.mark.parametrize("adapter", WIRES)
@pytest.mark.parametrize(
    "asked",
    [
        request(system("P"), user("a"), user("b")),
        request(system("P"), {"role": "assistant", "content": "a"}, user("b")),
        request(user("a"), {"role": "assistant", "content": None, "tool_calls": CALLS}, RESULT),
        request(user("a"), {"role": "assistant", "content": None, "tool_calls": CALLS}, RESULT, user("b"), tools=True),
    ],
    ids=["two users in a row", "an assistant first", "calls but no tools offered (T39)", "a user after a result"],
)
def test_a_strict_provider_accepts_every_request(adapter: str, asked: ModelRequest) -> None:
    """B37, T7: no empty text, results directly after their calls, whatever the format asks for."""
    _, [(reply, error)] = over_the_wire(adapter, asked)
    assert (error, reply.text) == (None, "ok")


@pytest.mark.parametrize("adapter", WIRES)
def test_settings_reach_the_provider(adapter: str) -> None:
    options = {"temperature": 0.5, "top_p": 0.25, "max_output_tokens": 99, "extra": {"extra_headers": {"x-team": "a"}}}
    received, _ = over_the_wire(adapter, request(), **options)
    body = received[0].body
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.5, 0.25, 99)
    assert (body["stream"], received[0].headers["x-team"]) == (True, "a")
