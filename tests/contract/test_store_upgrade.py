"""R1, R3: a database that 0.1.0 wrote is upgraded, and every session in it goes on where it stood."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text

import agentflow.store.sql as sql
from agentflow.store.sql.schema import SCHEMA_VERSION, upgrade
from agentflow.testing import Kit
from agentflow.testing.postgres import schema
from tests.scenarios.support import rows

WRITTEN = json.loads((Path(__file__).parents[1] / "cases" / "database_0_1_0.json").read_text(encoding="utf-8"))


def make_0_1_0(url: str) -> None:
    """The tables of 0.1.0, made by its migration, with the rows it wrote."""
    engine = create_engine(url)
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(Path(sql.__file__).with_name("migrations")))
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        for table, written in WRITTEN.items():
            names = written["columns"]
            insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"
            connection.execute(text(insert), [dict(zip(names, row, strict=True)) for row in written["rows"]])
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT setval('session_key_seq', (SELECT max(key) FROM session))"))
    engine.dispose()


@pytest.fixture(params=["file", "postgres"])
def agentflow_db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The database of the kit, as 0.1.0 left it; a Postgres one waits for `agentflow db upgrade`."""
    if request.param == "file":
        url = f"sqlite:///{tmp_path / 'sessions.db'}"
        make_0_1_0(url)
        yield url
        return
    server = os.environ.get("AGENTFLOW_TEST_POSTGRES")
    if server is None:
        pytest.skip("AGENTFLOW_TEST_POSTGRES is not set")
    with schema(server) as url:
        make_0_1_0(url)
        assert upgrade(url) == ("0001", SCHEMA_VERSION)
        yield url


@pytest.fixture
def kit(agentflow: Kit) -> Kit:
    """The agents those sessions are of, an hour after 0.1.0 was ended; they answer with the last thing they read."""

    def echo(request: Any) -> dict[str, Any]:
        return {"text": f"read {request.messages[-1]['content']}"}

    agentflow.agent(inputs={"city": {"type": "string", "default": "Rome"}}, planning={}, replies=echo)
    agentflow.agent("clerk", replies=echo)
    agentflow.agent("router", sub_agents=["clerk"], replies=echo)
    agentflow.agent("slow", replies=echo)
    return agentflow


def test_every_row_is_kept_and_the_new_columns_say_what_held_before(kit: Kit, agentflow_db: str) -> None:
    kit.status("asked")  # opened, and so upgraded
    for table, written in WRITTEN.items():
        names = ", ".join(written["columns"])
        kept = rows(agentflow_db, f"SELECT {names} FROM {table}")
        assert sorted(map(list, kept), key=repr) == sorted(written["rows"], key=repr)
    assert rows(agentflow_db, "SELECT DISTINCT kind FROM question") == [("questions",)]
    assert rows(agentflow_db, "SELECT DISTINCT handler FROM tool_call") == [(None,)]
    assert rows(agentflow_db, "SELECT DISTINCT tools_hash FROM turn") == [(None,)]
    assert rows(agentflow_db, "SELECT step, after_seq FROM alias") == [(None, None)]


def test_what_replaces_of_0_1_0_wrote_is_marked(tmp_path: Path) -> None:
    """X18, X20: the summary and the copies of each replace, and nothing that came after them."""
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    make_0_1_0(url)
    engine = create_engine(url)
    with engine.begin() as connection:
        for depth, id_, copied in ((1, "sum", None), (2, "copy", "old"), (3, "later", None)):
            connection.execute(
                text(
                    "INSERT INTO message (session_key, branch, depth, id, role, turn, execution, hidden, copied_from) "
                    "VALUES (1, 99, :depth, :id, 'user', 1, 1, 0, :copied)"
                ),
                {"depth": depth, "id": id_, "copied": copied},
            )
        told = json.dumps({"kept": 1, "head_id": "copy", "previous_head_id": "old"})
        connection.execute(
            text(
                "INSERT INTO event (session_key, seq, at, type, ref, data) "
                "VALUES (1, 9999, 0, 'context.replaced', 'sum', :told)"
            ),
            {"told": told},
        )
    engine.dispose()
    assert upgrade(url) == ("0001", SCHEMA_VERSION)
    marked = rows(url, "SELECT id, written_as FROM message WHERE written_as IS NOT NULL ORDER BY depth")
    assert marked == [("sum", "summary"), ("copy", "kept")]


def test_a_question_asked_by_0_1_0_is_answered_and_what_waited_behind_it_runs(kit: Kit) -> None:
    assert kit.status("asked")["questions"][0]["header"] == "Size"
    resumed = kit.answer("L", "asked")
    assert (resumed.turn_id, resumed.step_order, resumed.answer) == ("t2", 3, "read Size: L")
    assert [kit.result(turn_id, "asked").answer for turn_id in ("t3", "t4", "t5")] == ["read three", *["read five"] * 2]
    assert kit.status("asked")["queued"] == 0


def test_a_sub_agents_question_asked_by_0_1_0_is_answered(kit: Kit) -> None:
    assert kit.answer("S", "delegated").answer == "read Size: S"


def test_a_turn_that_died_under_0_1_0_is_repaired_and_its_queue_goes_on(kit: Kit) -> None:
    assert kit.status("killed")["status"] == "aborted"
    assert [ended.answer for ended in kit.run(kit.runtime.run_queue("killed"))] == ["read behind"]
    assert [message["content"] for message in kit.path("killed")] == ["lost", "behind", "read behind"]


def test_a_new_session_begins_beside_the_old_ones(kit: Kit) -> None:
    assert kit.send("hello", "new", agent_id="slow").answer == "read hello"
    assert len(kit.run(kit.runtime.sessions())) == 4
