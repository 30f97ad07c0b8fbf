"""R10: the shipped `query` flow reads one configured SQLite file and can do nothing else."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentflow import FlowContext
from workflows.query import MAX_ROWS, query


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("AGENTFLOW_QUERY_DB", raising=False)
    path = tmp_path / "shop #1.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE item (id INTEGER, name TEXT)")
        connection.executemany("INSERT INTO item VALUES (?, ?)", [(n, f"n{n}") for n in range(500)])
    return path


@pytest.fixture
def context(database: Path) -> FlowContext:
    return FlowContext(vars={"query_db": str(database)})


def test_a_select_gives_columns_and_rows(context: FlowContext) -> None:
    assert query("SELECT id, name AS label FROM item WHERE id < 2", context) == {
        "columns": ["id", "label"],
        "rows": [(0, "n0"), (1, "n1")],
        "more": False,
    }


def test_the_tables_can_be_listed(context: FlowContext) -> None:
    assert query("SELECT name FROM sqlite_master", context)["rows"] == [("item",)]


def test_functions_and_recursive_queries_work(context: FlowContext) -> None:
    counting = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT sum(n) FROM c"
    assert query(counting, context)["rows"] == [(15,)]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("instr('abc', 'c')", 3),
        ("instr('abc', 'x')", 0),
        ("instr(x'0102', x'02')", 2),
        ("instr(123, 3)", 3),
        ("instr(NULL, 'a')", None),
        ("replace('aXa', 'a', 'bb')", "bbXbb"),
        ("replace('aXa', '', 'b')", "aXa"),
        ("replace('a', 'a', NULL)", None),
        ("trim('xxaxx', 'x')", "a"),
        ("ltrim('xxaxx', 'x')", "axx"),
        ("rtrim('xxaxx', 'x')", "xxa"),
        ("trim('  a ')", "a"),
        ("instr(replace(hex(zeroblob(400000)), '0', 'a'), replace(hex(zeroblob(200000)), '0', 'a') || 'b')", 0),
    ],
)
def test_looking_for_texts_is_as_in_sqlite_and_takes_no_hours(context: FlowContext, sql: str, value: object) -> None:
    """Z3: SQLite's own `trim` of 200,000 characters by as many took a day, with nothing to end it."""
    assert query(f"SELECT {sql}", context)["rows"] == [(value,)]


def test_rows_are_bounded_and_the_cut_is_told(context: FlowContext) -> None:
    result = query("SELECT * FROM item", context)
    assert (len(result["rows"]), result["more"]) == (MAX_ROWS, True)


def test_bytes_are_bounded_and_the_cut_is_told(context: FlowContext) -> None:
    """Z3: 200 long rows are no result a conversation could hold."""
    result = query("SELECT hex(zeroblob(100000)) FROM item", context)
    assert (len(result["rows"]), result["more"]) == (5, True)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT zeroblob(200000000)",
        "SELECT hex(zeroblob(900000))",
        "SELECT group_concat(hex(zeroblob(100000))) FROM item",
        f"SELECT hex(zeroblob(200000)) LIKE '{'%a' * 26}'",
        f"SELECT {'(' * 200}1{')' * 200}",
        f"SELECT 1{'+1' * 200}",
        f"SELECT 1 {'UNION ALL SELECT 1 ' * 60}",
        f"SELECT '{'x' * 100_001}'",
        "SELECT trim(hex(zeroblob(200000)), hex(zeroblob(200000)))",
        "SELECT rtrim('a', hex(zeroblob(51)))",
        "SELECT replace(hex(zeroblob(2000)), '0', hex(zeroblob(2000)))",
        "SELECT * FROM generate_series(1, 1000000000)",
        "SELECT * FROM pragma_database_list",
        "SELECT readfile('/etc/passwd')",
        "SELECT randomblob(2000000)",
        "SELECT json_extract(replace(hex(zeroblob(2000)), '0', '['), '$')",
    ],
)
def test_what_would_take_too_much_is_refused_by_its_form(context: FlowContext, sql: str) -> None:
    """Z3: inside one function or pattern nothing could interrupt it."""
    with pytest.raises(sqlite3.Error):
        query(sql, context)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM item",
        "INSERT INTO item VALUES (1, 'x')",
        "DROP TABLE item",
        "CREATE TEMP TABLE t (x)",
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'copy.db'",
        "PRAGMA query_only = 0",
        "SELECT load_extension('x')",
        "SELECT 1; DELETE FROM item",
        "nonsense",
    ],
)
def test_nothing_but_reading_is_possible(context: FlowContext, database: Path, sql: str) -> None:
    before = database.read_bytes()
    with pytest.raises((sqlite3.Error, sqlite3.Warning)):
        query(sql, context)
    assert database.read_bytes() == before
    assert [path.name for path in database.parent.iterdir()] == [database.name]


def test_a_query_that_fills_the_disk_is_ended_with_a_sentence(
    context: FlowContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z3: what SQLite sorts and collects goes to a file of its own, which nothing else bounds."""
    free = iter([10**12, 10**12 - 10**8])
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=next(free, 0)))
    long = "WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c LIMIT 300000) SELECT count(*) FROM c"
    with pytest.raises(ValueError, match="more than 200 MB on the way"):
        query(long, context)


def test_a_stopped_call_interrupts_the_query(database: Path) -> None:
    context = FlowContext(vars={"query_db": str(database)}, cancelled=lambda: True)
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c"
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        query(endless, context)


def test_the_file_comes_from_variables_then_inputs_then_the_environment(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = "SELECT 1"
    assert query(one, FlowContext(inputs={"query_db": str(database)}))["rows"] == [(1,)]
    monkeypatch.setenv("AGENTFLOW_QUERY_DB", str(database))
    assert query(one, FlowContext())["rows"] == [(1,)]
    with pytest.raises(ValueError, match=r"does not exist: gone\.db"):
        query(one, FlowContext(vars={"query_db": "/nowhere/gone.db"}, inputs={"query_db": str(database)}))


def test_without_configuration_the_flow_says_what_to_set(database: Path) -> None:
    with pytest.raises(ValueError, match="set the variable or input 'query_db', or AGENTFLOW_QUERY_DB"):
        query("SELECT 1", FlowContext())
