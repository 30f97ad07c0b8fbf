"""R8: what flows load of an entity is snapshotted where the session, or the environment, says so."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import agentflow as package
from agentflow import FlowContext, InvalidConfig, ModelRequest, SnapshotNotFound, StoreError
from agentflow.testing import Kit
from agentflow.turn.rules.packed_json import MAX_CHARS
from tests.both_databases import on_both_databases
from tests.scenarios.support import call, results, rows, said

Reply = dict[str, Any]

TAKEN = "SELECT step, turn, entity, entity_key, problem FROM snapshot ORDER BY step, number"
DECIDED = "SELECT snapshotted, snapshot_reason FROM session"
ALL = {"snap_session_mode": "all"}


agentflow_db = on_both_databases


class Shelf:
    """What the loaders load, which the tests change."""

    data: Any = None


@pytest.fixture(autouse=True)
def shelf() -> type[Shelf]:
    Shelf.data = {"name": "Ada", "tags": ["new", 1, None, 2.5]}
    return Shelf


def load_customer(key: str) -> Any:
    """Load a customer."""
    return Shelf.data


async def load_customer_later(ctx: FlowContext, key: str) -> Any:
    """Load a customer, in a while."""
    await asyncio.sleep(0)
    return {**Shelf.data, "asked_by": ctx.session_id, "key": key}


def look(ctx: FlowContext) -> Any:
    """Look at the customer."""
    return ctx.get_with_snap("customer", "42", load_customer)


def looks(request: ModelRequest) -> Reply:
    """Each turn looks once."""
    if request.messages[-1]["role"] == "tool":
        return {"text": "seen"}
    return {"tool_calls": [call("look")]}


def environment(kit: Kit, name: str) -> None:
    """The process that comes next runs in this environment."""
    (kit.project / "agentflow.yaml").write_text(f"environment: {name}\n")
    kit.restart()


def taken(kit: Kit) -> list[tuple[Any, ...]]:
    return rows(kit._db, TAKEN)


def listed(kit: Kit, session: str = "s-1") -> dict[str, Any]:
    return kit.run(kit.runtime.records.snapshots(session))


def data(kit: Kit, number: int = 1) -> Any:
    return kit.run(kit.runtime.records.snapshot("s-1", number))["data"]


# -- taking them -------------------------------------------------------------------------------------------------------


def sync_flow(loader: Any) -> Callable[..., Any]:
    def look(ctx: FlowContext) -> Any:
        """Look."""
        return ctx.get_with_snap("customer", 42, loader)

    return look


def async_flow(loader: Any) -> Callable[..., Awaitable[Any]]:
    async def look(ctx: FlowContext) -> Any:
        """Look."""
        return await ctx.get_with_snap("customer", 42, loader)

    return look


@pytest.mark.parametrize("flow", [sync_flow, async_flow])
@pytest.mark.parametrize("loader", [load_customer, load_customer_later, "load_customer", "load_customer_later"])
def test_any_flow_loads_by_any_loader_and_what_it_got_is_kept(agentflow: Kit, flow: Any, loader: Any) -> None:
    """ "so a real conversation can later be turned into an evaluation case that replays against the same data" """
    agentflow.agent("other", tools=[load_customer, load_customer_later])
    agentflow.agent(tools=[flow(loader)], replies=looks, settings=ALL)
    agentflow.send("hi")
    is_later = "later" in getattr(loader, "__name__", loader)
    expected = {**Shelf.data, **({"asked_by": "s-1", "key": 42} if is_later else {})}
    [said_to_model] = results(agentflow.requests[-1])
    assert '"name":"Ada"' in said_to_model
    assert taken(agentflow) == [(1, 1, "customer", "42", None)]
    assert data(agentflow) == expected


def test_the_hook_puts_the_data_into_the_prompt(agentflow: Kit) -> None:
    """ "The snapshot itself is taken where the session loads the entity's data — the GetWithSnap actor in a step_start
    hook flow." """
    given = {"entity": "customer", "key": "{{ inputs.customer_id }}", "loader": "load_customer", "as": "customer"}
    agentflow.agent("other", tools=[load_customer])
    agentflow.agent(
        hooks={"step_start": [{"flow": "GetWithSnap", "with": given}]},
        inputs={"customer_id": {"type": "string"}},
        prompt="You help {{ vars.customer.name }}.",
        replies=[{"text": "ok"}],
        settings=ALL,
    )
    agentflow.send("hi", inputs={"customer_id": "c-7"})
    assert said(agentflow.requests[0])[0] == ("system", "You help Ada.")
    assert taken(agentflow) == [(1, 1, "customer", "c-7", None)]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"loader": "load_custmer"}, r"with\.loader: There is no flow 'load_custmer'"),
        ({"key": True}, r"with: does not fit flow 'GetWithSnap' .*: key"),
        ({"key": ["42"]}, r"with: does not fit flow 'GetWithSnap' .*: key"),
        ({"as": "2nd"}, r"with: does not fit flow 'GetWithSnap' .*: as_: "),
        ({"entiti": "x"}, r"with\.entiti: .* did you mean 'entity'\?"),
    ],
)
def test_the_hooks_arguments_are_checked(agentflow: Kit, given: Reply, complaint: str) -> None:
    whole = {"entity": "customer", "key": "1", "loader": "load_customer", "as": "customer", **given}
    agentflow.agent("other", tools=[load_customer])
    agentflow.agent(hooks={"step_start": [{"flow": "GetWithSnap", "with": whole}]})
    with pytest.raises(InvalidConfig, match=complaint):
        agentflow.send("hi")


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ({"tools": ["GetWithSnap"]}, r"tools\[0\]: .*is a hook at step_start, no tool"),
        ({"hooks": {"step_end": ["GetWithSnap"]}}, r"hooks.step_end\[0\]: .*is a hook at step_start alone"),
    ],
)
def test_it_is_refused_where_nobody_would_take_its_data(agentflow: Kit, keys: Reply, place: str) -> None:
    """R8: as a tool a model would choose the loader, at another point the variable would go nowhere."""
    agentflow.agent(**keys)
    with pytest.raises(InvalidConfig, match=place):
        agentflow.send("hi")


@pytest.mark.parametrize(("key", "got"), [(42, 42), ("42", "42"), ("{{ 40 + 2 }}", "42")])
def test_its_key_is_a_text_or_a_number_and_one_snapshot(agentflow: Kit, key: Any, got: Any) -> None:
    """R8: the loader gets what the file says, a template gives a text."""
    asked: list[Any] = []

    def load_it(key: Any) -> str:
        """Load."""
        asked.append(key)
        return "data"

    given = {"entity": "customer", "key": key, "loader": "load_it", "as": "customer"}
    agentflow.agent("other", tools=[load_it])
    hooks = {"step_start": [{"flow": "GetWithSnap", "with": given}]}
    agentflow.agent(hooks=hooks, replies=[{"text": "ok"}], settings=ALL)
    agentflow.send("hi")
    assert asked == [got]
    assert taken(agentflow) == [(1, 1, "customer", "42", None)]


def test_equal_data_is_kept_once_whatever_the_order_of_its_keys(agentflow: Kit) -> None:
    agentflow.agent(tools=[look], replies=looks, settings=ALL)
    agentflow.send("one")
    Shelf.data = dict(reversed(Shelf.data.items()))
    agentflow.send("two")
    Shelf.data = {"name": "Grace"}
    agentflow.send("three")
    assert taken(agentflow) == [(turn, turn, "customer", "42", None) for turn in (1, 2, 3)]
    assert rows(agentflow._db, "SELECT count(*) FROM snapshot_data") == [(2,)]
    assert data(agentflow, 3) == {"name": "Grace"}


def test_what_a_step_loads_again_unchanged_is_listed_once(agentflow: Kit) -> None:
    def look(ctx: FlowContext) -> list[Any]:
        """Look often."""
        found = []
        for name in ("Ada", "Ada", "Grace", "Ada"):
            Shelf.data = {"name": name}
            found.append(ctx.get_with_snap("customer", "42", load_customer)["name"])
        return found

    agentflow.agent(tools=[look], replies=looks, settings=ALL)
    agentflow.send("hi")
    assert results(agentflow.requests[-1]) == ['["Ada","Ada","Grace","Ada"]']
    assert [data(agentflow, number)["name"] for number in (1, 2, 3)] == ["Ada", "Grace", "Ada"]
    assert len(taken(agentflow)) == 3


def test_a_sub_agents_flows_are_snapshotted_as_the_session_says(agentflow: Kit) -> None:
    agentflow.agent("helper", tools=[look], replies=looks)
    delegated = {"tool_calls": [call("task", agent="helper", prompt="look")]}
    agentflow.agent(sub_agents=["helper"], replies=[delegated, {"text": "ok"}], settings=ALL)
    agentflow.send("hi")
    assert taken(agentflow) == [(1, 1, "customer", "42", None)]
    assert rows(agentflow._db, DECIDED) == [(1, "snap_session_mode all")]


def test_a_snapshot_costs_a_turn_no_commit(agentflow: Kit) -> None:
    """R4"""
    costs = []
    for mode in ("none", "all"):
        agentflow.agent(tools=[look], replies=looks, settings={"snap_session_mode": mode})
        before = agentflow.commits
        agentflow.send("hi", mode)
        costs.append(agentflow.commits - before)
    assert costs[0] == costs[1]


# -- what cannot be kept -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": math.nan}, "it is no JSON"),
        ({1: "a"}, "it is no JSON"),
        ({"a": {1, 2}}, "it is no JSON"),
        ("x" * MAX_CHARS, "it has 1000002 characters as JSON"),
    ],
)
def test_data_that_cannot_be_kept_is_returned_all_the_same_and_listed_with_the_reason(
    agentflow: Kit, value: Any, problem: str
) -> None:
    got: list[Any] = []

    def look(ctx: FlowContext) -> str:
        """Look."""
        got.append(ctx.get_with_snap("customer", "42", load_customer))
        return "looked"

    Shelf.data = value
    agentflow.agent(tools=[look], replies=looks, settings=ALL)
    assert agentflow.send("hi").state == "done"
    assert got[0] is value
    [(*_, why)] = taken(agentflow)
    assert problem in why
    with pytest.raises(SnapshotNotFound, match="Snapshot 1 of session 's-1' has no data: it"):
        data(agentflow)


def test_half_a_surrogate_pair_comes_back_as_it_was(agentflow: Kit) -> None:
    Shelf.data = {"half": "\ud83d", "zero": "\x00", "pair": "😀"}
    agentflow.agent(tools=[look], replies=looks, settings=ALL)
    agentflow.send("hi")
    assert data(agentflow) == Shelf.data


@pytest.mark.parametrize("flow", [sync_flow, async_flow])
def test_a_failing_loader_fails_the_flow_as_if_the_flow_had_called_it(agentflow: Kit, flow: Any) -> None:
    def broken(key: str) -> Any:
        raise LookupError(f"nobody has the number {key}")

    agentflow.agent(tools=[flow(broken)], replies=looks, settings=ALL)
    agentflow.send("hi")
    assert "nobody has the number 42" in results(agentflow.requests[-1])[0]
    assert taken(agentflow) == []


@pytest.mark.parametrize(("entity", "key"), [("", "1"), ("x" * 101, "1"), ("x", "1" * 501), ("x", None), (7, "1")])
def test_an_entity_has_a_name_and_a_key(agentflow: Kit, entity: Any, key: Any) -> None:
    def look(ctx: FlowContext) -> Any:
        """Look."""
        return ctx.get_with_snap(entity, key, load_customer)

    agentflow.agent(tools=[look], replies=looks, settings=ALL)
    agentflow.send("hi")
    assert "get_with_snap: the " in results(agentflow.requests[-1])[0]
    assert taken(agentflow) == []


# -- which sessions ----------------------------------------------------------------------------------------------------


def test_without_a_mode_nothing_is_taken_and_the_reason_is_kept(agentflow: Kit) -> None:
    agentflow.agent(tools=[look], replies=looks)
    agentflow.send("hi")
    assert taken(agentflow) == []
    assert listed(agentflow) == {
        "session_id": "s-1", "snapshotted": False, "reason": "snap_session_mode none", "snapshots": [],
    }  # fmt: skip


def test_a_session_decides_once(agentflow: Kit) -> None:
    """What the file says later is for later sessions."""
    agentflow.agent(tools=[look], replies=looks, settings=ALL)
    agentflow.send("one")
    agentflow.agent(tools=[look], replies=looks)
    agentflow.restart()
    agentflow.send("two")
    agentflow.send("other", "s-2")
    assert len(listed(agentflow)["snapshots"]) == 2
    assert listed(agentflow, "s-2")["snapshots"] == []


def test_nothing_is_decided_before_something_is_loaded(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "ok"}], settings=ALL)
    agentflow.send("hi")
    assert listed(agentflow)["snapshotted"] is None


def test_a_sample_takes_the_sessions_that_the_hash_of_their_id_says(agentflow: Kit) -> None:
    agentflow.agent(tools=[look], replies=looks, settings={"snap_session_mode": "sample", "snap_session_rate": 0.5})
    for number in range(8):
        agentflow.send("hi", f"c-{number}")
    decided = {session: listed(agentflow, session) for session in (f"c-{number}" for number in range(8))}
    assert {each["snapshotted"] for each in decided.values()} == {True, False}
    for each in decided.values():
        assert each["snapshotted"] == bool(each["snapshots"])
        assert each["reason"].startswith("sample: 0.")
        assert ("not below 0.5" in each["reason"]) is not each["snapshotted"]


def test_in_studio_everything_is_snapshotted_and_the_sessions_own_decision_stands(agentflow: Kit) -> None:
    """ "sessions run from AI Fusion Studio always use all" """
    agentflow.agent(tools=[look], replies=looks)
    agentflow.send("in production")
    environment(agentflow, "studio")
    agentflow.send("in studio")
    environment(agentflow, "production")
    agentflow.send("in production again")
    assert taken(agentflow) == [(2, 2, "customer", "42", None)]
    assert rows(agentflow._db, DECIDED) == [(0, "snap_session_mode none")]


def test_in_evaluation_nothing_is_loaded_or_snapshotted(agentflow: Kit) -> None:
    """ "and evaluation runs always use none" """
    agentflow.agent(tools=[look], replies=looks, settings=ALL)
    agentflow.send("in production")
    environment(agentflow, "evaluation")
    agentflow.send("in evaluation")
    assert len(taken(agentflow)) == 1
    assert "There is no captured data of customer '42'" in results(agentflow.requests[-1])[0]


def test_the_environment_may_come_from_a_variable(agentflow: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAGE", "studio")
    agentflow.agent(tools=[look], replies=looks)
    environment(agentflow, "${STAGE:-production}")
    agentflow.send("hi")
    assert len(taken(agentflow)) == 1


def test_when_it_cannot_be_decided_this_turn_goes_without_and_the_next_one_asks_again(
    agentflow: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "If the sampling decision cannot be made, snapshots are skipped for that turn." """
    agentflow.agent(tools=[look], replies=looks, settings=ALL)

    async def away(key: int) -> None:
        raise StoreError("the database is away")

    with monkeypatch.context() as broken:
        broken.setattr(agentflow.runtime._store.ledger, "snapshot_decision", away)
        assert agentflow.send("one").state == "done"
    assert '"name":"Ada"' in results(agentflow.requests[-1])[0]
    assert (taken(agentflow), listed(agentflow)["snapshotted"]) == ([], None)
    agentflow.send("two")
    assert taken(agentflow) == [(2, 2, "customer", "42", None)]
    assert listed(agentflow)["snapshotted"] is True


def test_without_observability_none_is_taken(agentflow: Kit) -> None:
    """R5"""
    agentflow.agent(tools=[look], replies=looks, settings={**ALL, "observability": False})
    environment(agentflow, "studio")
    agentflow.send("hi")
    assert taken(agentflow) == []
    assert rows(agentflow._db, "SELECT count(*) FROM snapshot_data") == [(0,)]


# -- late writers ------------------------------------------------------------------------------------------------------


def test_a_flow_that_was_given_up_takes_no_snapshot(agentflow: Kit) -> None:
    """T23: what it loads when nobody waits any more is nobody's data."""
    go_on, late = threading.Event(), threading.Event()

    def slow(key: str) -> Any:
        go_on.wait(5)
        return Shelf.data

    def look(ctx: FlowContext) -> Any:
        """Look for a long time."""
        try:
            return ctx.get_with_snap("customer", "42", slow)
        finally:
            late.set()

    agentflow.agent(tools=[{"flow": look, "timeout_secs": 0.05}], replies=looks, settings=ALL)
    assert agentflow.send("one").state == "done"
    go_on.set()

    agentflow.run(asyncio.to_thread(late.wait, 5))
    agentflow.agent(tools=[look], replies=[{"text": "ok"}], settings=ALL)
    agentflow.send("two")
    assert taken(agentflow) == []


def test_a_turn_that_another_process_took_over_keeps_nothing_it_loaded(agentflow: Kit) -> None:
    """C35: the snapshot rides on the turn's own commits, which the new owner refuses."""
    gate = asyncio.Event()

    async def look(ctx: FlowContext) -> Any:
        """Look, then wait."""
        found = await ctx.get_with_snap("customer", "42", load_customer)
        ctx.emit("loaded", {})
        await gate.wait()
        return found

    agentflow.agent(tools=[look], replies=looks, settings=ALL)
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "hi"}})
    agentflow.until("flow.emitted")
    agentflow.kill()
    agentflow.reopen()
    agentflow.agent(replies=[{"text": "ok"}], settings=ALL)
    agentflow.send("again")
    assert taken(agentflow) == []


# -- captured data -----------------------------------------------------------------------------------------------------


def test_a_runtime_with_captured_data_gives_it_in_place_of_loading(agentflow: Kit) -> None:
    """R9: the data of the case, each time anew; a missing one is named."""
    loaded: list[str] = []

    def load(key: str) -> Any:
        loaded.append(key)

    def look(ctx: FlowContext) -> Any:
        """Look twice."""
        ctx.get_with_snap("customer", 42, load)["name"] = "changed"
        return ctx.get_with_snap("customer", 42, load)

    async def seek(ctx: FlowContext) -> Any:
        """Seek what is not there."""
        return await ctx.get_with_snap("order", "7", load)

    seen: list[list[str]] = []

    def replies(request: ModelRequest) -> Reply:
        if found := results(request):
            seen.append(found)
            return {"text": "ok"}
        return {"tool_calls": [call("look"), call("seek")]}

    agentflow.agent(tools=[look, seek], replies=replies, settings=ALL)
    captured = {("customer", "42"): {"name": "Ada then"}}

    async def evaluate() -> str:
        async with package.Runtime.open(
            agentflow.project, db=agentflow._db, flows=[look, seek], snapshots=captured,
            open_model=agentflow._agents.open_model,
        ) as runtime:  # fmt: skip
            await runtime.run("s-e", "test", "hi")
            return str((await runtime.session("s-e"))["environment"])

    assert agentflow.run(evaluate()) == "evaluation"
    assert seen[0][0] == '{"name":"Ada then"}'
    assert "There is no captured data of order '7', and evaluation loads nothing; there is: customer '42'" in seen[0][1]
    assert loaded == []
    assert taken(agentflow) == []


def test_a_context_of_a_test_loads_without_a_runtime() -> None:
    ctx = FlowContext()
    assert ctx.get_with_snap("customer", "42", load_customer) == Shelf.data
    assert ctx.get_with_snap("customer", "42", lambda key: load_customer_later(ctx, key))["key"] == "42"

    async def in_a_loop() -> list[Any]:
        return [
            await ctx.get_with_snap("customer", "42", load_customer),
            await ctx.get_with_snap("customer", "42", lambda key: load_customer_later(ctx, key)),
        ]

    assert [each["name"] for each in asyncio.run(in_a_loop())] == ["Ada", "Ada"]
    with pytest.raises(ValueError, match="outside a turn nobody finds the flow 'load_customer'"):
        ctx.get_with_snap("customer", "42", "load_customer")


# -- reading them ------------------------------------------------------------------------------------------------------


def test_they_are_listed_in_order_with_their_turns_and_go_with_the_session(agentflow: Kit) -> None:
    agentflow.agent(tools=[look], replies=looks, settings=ALL)
    first = agentflow.send("one")
    agentflow.send("two")
    found = listed(agentflow)
    assert (found["snapshotted"], found["reason"]) == (True, "snap_session_mode all")
    one, two = found["snapshots"]
    assert (one["number"], one["step_order"], one["turn_id"]) == (1, 1, first.turn_id)
    assert (two["number"], two["hash"], two["chars"]) == (2, one["hash"], one["chars"])
    assert one["at"].startswith("2030-01-01T")
    with pytest.raises(SnapshotNotFound, match="has no snapshot 3; they are 1 to 2"):
        data(agentflow, 3)
    agentflow.run(agentflow.runtime.delete("s-1"))
    for table in ("snapshot", "snapshot_data"):
        assert rows(agentflow._db, f"SELECT count(*) FROM {table}") == [(0,)]
