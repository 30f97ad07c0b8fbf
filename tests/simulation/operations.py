"""What clients do, and what befalls processes: each operation is drawn from the seed and can be left out alone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from agentflow import AgentflowError, Receipt, Runtime
from tests.simulation.ledger import Heard, Sent, Violation


@dataclass(frozen=True, slots=True)
class Operation:
    """The `number`-th thing that happens, not before step `at`, on the process in a slot."""

    number: int
    at: int
    kind: str
    session: int
    slot: int
    seed: int

    def __str__(self) -> str:
        return f"#{self.number} {self.kind} session {self.session} slot {self.slot}"


_BUSY = {
    "turn_already_active",
    "call_already_answered",
    "question_already_answered",
    "no_pending_question",
    "question_expired",
}
_NAMED = {"invalid_input", "message_not_found", "session_not_found", "turn_not_found", "call_not_found"}
_AWAY = {"store_error", "stale_owner"}  # only where the process was disturbed


class Client:
    """Performs one operation in the process it was sent to."""

    def __init__(self, world: Any, operation: Operation, process: Any) -> None:
        self.world = world
        self.operation = operation
        self.process = process
        self.runtime: Runtime = process.runtime
        self.session = f"s{operation.session}"
        self.agent: str = world.agent_of(operation.session)
        self.rng = random.Random(operation.seed)

    async def perform(self) -> None:
        kind = self.operation.kind
        try:
            await CLIENTS[kind](self)
            self.world.ledger.counts[kind] += 1
        except AgentflowError as error:
            self.world.ledger.counts[f"{kind}: {error.code}"] += 1
            self.world.remark(f"{self.operation} is refused: {error.code}: {error}")
            if not self._may_be(error.code):
                raise Violation("an unexpected refusal", f"{self.operation}: {error.code}: {error}") from error

    def _may_be(self, code: str) -> bool:
        if code in _AWAY:
            return bool(self.process.is_disturbed)
        return code in _BUSY or (code in _NAMED and self.operation.kind not in ("say", "talk"))

    # -- handing in --------------------------------------------------------------------------------------------------

    async def submit(self, given: dict[str, Any], *texts: str, **options: Any) -> Receipt:
        ledger = self.world.ledger
        ledger.given.append((self.session, given))
        receipt = await self.runtime.submit(self.session, given, **options)
        ledger.sent.append(Sent(self.operation.number, self.session, given, texts, receipt))
        self.world.remark(f"{self.operation} has its receipt: {receipt}")
        return receipt

    def message(self, **fields: Any) -> tuple[dict[str, Any], str]:
        number = self.operation.number
        text = f"m{number}."
        message: dict[str, Any] = {"role": "user", "content": text}
        if self.rng.random() < 0.5:
            message["id"] = f"id-m{number}"
        given = {"type": "client.message", "agent_id": self.agent, "message": message, **fields}
        if self.rng.random() < 0.5:
            given["turn_id"] = f"t-{number}"
        return given, text

    async def after(self, receipt: Receipt) -> None:
        """What a client does with its receipt: leaves, waits for the result, or watches."""
        kind = self.rng.random()
        if kind < 0.35 or not receipt.turn_id:
            return
        if kind < 0.7:
            result = await self.runtime.result(self.session, receipt.turn_id)
            self.world.told(self.session, result)
            return
        await self.listen(receipt.after_seq, receipt.turn_id)

    async def listen(self, after: int, turn_id: str | None, secs: float | None = None) -> None:
        heard = Heard(self.session, after, turn_id)
        self.world.ledger.heard.append(heard)

        async def read() -> None:
            events = self.runtime.events(self.session, after, turn_id, follow=turn_id is None)
            async with aclosing(events) as told:  # type: ignore[type-var]
                async for event in told:
                    heard.hear(event)
                    if event.type == "done" and event.seq is None:
                        self.world.must_be_dead(self.session, event.data["turn_id"])
            heard.ended = True

        if secs is None:
            await read()
            return
        reading = asyncio.get_running_loop().create_task(read())
        await asyncio.wait([reading], timeout=secs)
        if reading.done():
            reading.result()
        reading.cancel()


async def _say(client: Client) -> None:
    given, text = client.message()
    options: dict[str, Any] = {}
    rng = client.rng
    if rng.random() < 0.1:
        options["limits"] = {"max_iterations": 2, "on_limit": rng.choice(["stop", "ask", "answer"])}
    await client.after(await client.submit(given, text, **options))


async def _queue(client: Client) -> None:
    given, text = client.message(queue=client.rng.choice([True, "merge", "merge"]))
    await client.after(await client.submit(given, text))


async def _interrupt(client: Client) -> None:
    given, text = client.message(interrupt=True)
    await client.after(await client.submit(given, text))


async def _append(client: Client) -> None:
    number = client.operation.number
    texts = [f"m{number}a.", f"m{number}b."]
    messages = [{"role": "user", "content": text} for text in texts]
    given: dict[str, Any] = {"type": "client.append", "agent_id": client.agent, "messages": messages}
    if client.rng.random() < 0.3:
        given["queue"] = True
    await client.after(await client.submit(given, *texts))


async def _resend(client: Client) -> None:
    """The same request again, as a client does that has lost its answer."""
    earlier = [given for session, given in client.world.ledger.given if session == client.session]
    again = [given for given in earlier if "turn_id" in given or "id" in given.get("message", {})]
    if not again:
        return
    given = client.rng.choice(again[-4:])
    known = [each.receipt for each in client.world.ledger.sent if each.given is given]
    receipt = await client.submit(given)
    lost = "turn_id" not in given and client.session in client.world.ledger.emptied
    if known and receipt.turn_id != known[0].turn_id and not lost:
        raise Violation("a resent request is another turn", f"{given}: {known[0]}, then {receipt}")
    await client.after(receipt)


async def _view(client: Client) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = (await client.runtime.session(client.session))["messages"]
    return messages


async def _edit(client: Client) -> None:
    view = await _view(client)
    places = [index for index, each in enumerate(view) if each["role"] == "user"]
    text = f"m{client.operation.number}."
    at = client.rng.choice(places) if places else 0
    messages = [*view[:at], {"role": "user", "content": text}]
    await client.after(await client.submit(_messages(client, messages), text))


async def _regenerate(client: Client) -> None:
    view = await _view(client)
    places = [index for index, each in enumerate(view) if each["role"] == "user"]
    if places:
        await client.after(await client.submit(_messages(client, view[: places[-1] + 1])))


async def _resync(client: Client) -> None:
    """The whole view, with a message more or as it is."""
    view = await _view(client)
    if not view:
        return
    text = f"m{client.operation.number}."
    more = client.rng.random() < 0.6
    messages = [*view, {"role": "user", "content": text}] if more else view
    await client.after(await client.submit(_messages(client, messages), *([text] if more else [])))


def _messages(client: Client, messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "client.messages", "agent_id": client.agent, "messages": messages}


async def _node(client: Client) -> str | None:
    nodes = (await client.runtime.tree(client.session))["nodes"]
    own = [each["message"]["id"] for each in nodes]
    return client.rng.choice(own) if own else None


async def _checkout(client: Client) -> None:
    node = await _node(client)
    if node is not None:
        await client.runtime.checkout(client.session, node)


async def _switch(client: Client) -> None:
    node = await _node(client)
    if node is not None:
        tree = await client.runtime.tree(client.session)
        message = next(each["message"] for each in tree["nodes"] if each["message"]["id"] == node)
        await client.after(await client.submit(_messages(client, [message])))


async def _answer(client: Client) -> None:
    rng = client.rng
    text = f"m{client.operation.number}."
    status = await client.runtime.status(client.session)
    options: dict[str, Any] = {"text": text}
    if status["pending"] and rng.random() < 0.6:
        answers = {question["header"]: [text] for question in status["questions"]}
        options = {"answers": answers, "tool_call_id": status["tool_call_id"]}
    if rng.random() < 0.5:
        options["turn_id"] = f"t-{client.operation.number}"
    receipt = await client.runtime.answer(client.session, **options)
    client.world.ledger.sent.append(Sent(client.operation.number, client.session, options, (text,), receipt))
    await client.after(receipt)


async def _stop(client: Client) -> None:
    rng, options = client.rng, dict[str, Any]()
    if rng.random() < 0.3:
        options["drain"] = True
    sent = [each.receipt.turn_id for each in client.world.ledger.sent if each.session == client.session]
    if sent and rng.random() < 0.4:
        options["turn_id"] = rng.choice(sent[-3:])
    if options:
        client.world.ledger.emptied.add(client.session)
    said = await client.runtime.stop(client.session, **options)
    client.world.remark(f"{client.operation} {options}: {said}")
    if said["outcome"] == "stopped":
        client.world.must_have_ended(client.session, said["turn_id"])


async def _settle(client: Client) -> None:
    call = client.world.open_call(client.session, client.rng)
    if call is None:
        return
    text = f"m{client.operation.number}."
    said = await client.runtime.settle(client.session, call, result=text)
    client.world.remark(f"{client.operation}: {said}")
    if said["outcome"] == "settled":
        client.world.ledger.settled[client.session, call] = text


async def _read(client: Client) -> None:
    runtime, session = client.runtime, client.session
    for read in client.rng.sample(["status", "session", "tree", "trace", "sessions", "explain", "events"], 3):
        match read:
            case "sessions":
                await runtime.sessions()
            case "explain":
                await runtime.explain(client.agent, session)
            case "events":
                async with aclosing(runtime.events(session)) as told:  # type: ignore[type-var]
                    seqs = [event.seq async for event in told]
                if seqs != list(range(1, len(seqs) + 1)):
                    raise Violation("events have a gap", f"{session}: {seqs}")
            case _:
                await getattr(runtime, read)(session)


async def _follow(client: Client) -> None:
    status = await client.runtime.status(client.session)
    del status
    await client.listen(0, None, client.rng.choice([0.5, 5.0, 30.0]))


async def _result(client: Client) -> None:
    """Somebody asks for the result of any turn there is a receipt for."""
    sent = [each.receipt.turn_id for each in client.world.ledger.sent if each.session == client.session]
    if sent:
        turn_id = client.rng.choice(sent[-5:])
        if turn_id:
            client.world.told(client.session, await client.runtime.result(client.session, turn_id))


CLIENTS: dict[str, Callable[[Client], Awaitable[None]]] = {
    "say": _say, "queue": _queue, "interrupt": _interrupt, "append": _append, "resend": _resend, "edit": _edit,
    "regenerate": _regenerate, "resync": _resync, "checkout": _checkout, "switch": _switch, "answer": _answer,
    "stop": _stop, "settle": _settle, "read": _read, "follow": _follow, "result": _result,
}  # fmt: skip
_WEIGHTS = {
    "say": 22, "queue": 8, "interrupt": 4, "append": 3, "resend": 5, "edit": 3, "regenerate": 3, "resync": 2,
    "checkout": 2, "switch": 1, "answer": 9, "stop": 5, "settle": 4, "read": 3, "follow": 3, "result": 3,
    "kill": 3, "kill_after_commit": 5, "close": 2, "suspend": 4, "refuse": 2, "slow": 2,
}  # fmt: skip


def drawn(rng: random.Random, steps: int, sessions: int, slots: int) -> list[Operation]:
    """The operations of one life of so many steps."""
    kinds, weights = list(_WEIGHTS), list(_WEIGHTS.values())
    operations, at = list[Operation](), 0
    while at < steps:
        kind = rng.choices(kinds, weights)[0] if operations else "say"
        operations.append(
            Operation(
                len(operations), at, kind, rng.randrange(sessions), rng.randrange(slots), rng.getrandbits(32)
            )
        )  # fmt: skip
        at += rng.choice([1, 3, 10, 30, 80, 120])
    return operations
