"""A6: flows are plain functions, found by name in folders that never reach `sys.path`. A4: reserved names."""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentflow.errors import InvalidConfig
from agentflow.tools.flows.context import FlowContext
from agentflow.tools.flows.library import FlowLibrary, flow, make_flow, shipped_folder
from agentflow.tools.flows.reserved import BUILTIN_NAMES

Write = Callable[..., None]

DECORATOR = "from agentflow.tools.flows.library import flow\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "workflows").mkdir()
    return tmp_path / "workflows"


def write(folder: Path, **files: str) -> None:
    for stem, text in files.items():
        path = folder / f"{stem}.py"
        previous = path.stat().st_mtime_ns if path.exists() else 0
        path.write_text(text)
        if previous:  # as if saved later, however fast the test is
            os.utime(path, ns=(previous + 1, previous + 1))


def failure(library: FlowLibrary, reference: str) -> str:
    with pytest.raises(InvalidConfig) as caught:
        library.get(reference)
    return str(caught.value)


def test_a_decorated_function_stays_a_plain_function() -> None:
    @flow(name="Add", description="Adds.")
    def add(a: int, b: int) -> int:
        """Not this."""
        return a + b

    @flow
    def bare(a: int) -> int:
        """This."""
        return a

    assert (add(1, 2), bare(3)) == (3, 3)
    assert (make_flow(add).name, make_flow(add).description) == ("Add", "Adds.")
    assert (make_flow(bare).name, make_flow(bare).description) == ("bare", "This.")


def test_a_flow_knows_its_place_context_and_colour() -> None:
    async def inner(x: int, ctx: FlowContext) -> int:
        return x

    @functools.wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    for function in (inner, outer):
        made = make_flow(function)
        assert (made.name, made.context, made.is_async) == ("inner", "ctx", True)
        assert made.where == f"{__file__}:{inner.__code__.co_firstlineno}"
        assert list(made.parameters["properties"]) == ["x"]


@pytest.mark.parametrize("name", sorted(BUILTIN_NAMES))
def test_a_built_in_name_is_refused(name: str) -> None:
    def function() -> None: ...

    with pytest.raises(InvalidConfig, match=f"'{name}' is the name of a built-in tool"):
        make_flow(function, name)


def yielding() -> Any:
    yield 1


async def async_yielding() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("thing", "complaint"),
    [
        (yielding, "a flow returns its result"),
        (async_yielding, "a flow returns its result"),
        (FlowContext, "a flow is a plain function"),
        (functools.partial(print, "x"), "a flow is a plain function"),
        (3, "a flow is a plain function"),
        (flow(name="no spaces")(lambda: 1), "'no spaces' cannot be a tool's name"),
    ],
)
def test_what_cannot_be_a_flow_is_refused(thing: Any, complaint: str) -> None:
    with pytest.raises(InvalidConfig, match=complaint):
        make_flow(thing)


def test_a_flow_is_found_by_function_name_and_by_given_name(folder: Path) -> None:
    write(
        folder,
        notes=DECORATOR + "@flow(name='SaveNote')\ndef save(text: str) -> str:\n    return 'saved ' + text\n",
        other="async def load() -> str:\n    return 'x'\n\ndef _helper() -> None: ...\n",
    )
    library = FlowLibrary([folder])
    saved = library.get("SaveNote")
    assert saved.function("x") == "saved x"
    assert saved.where == f"{folder}/notes.py:2"
    assert library.get("load").is_async
    assert library.get("load") is library.get("load")
    assert sorted(library.definitions()) == ["SaveNote", "load"]
    assert "did you mean 'SaveNote'" in failure(library, "save_note")


def test_the_project_comes_before_what_is_shipped(folder: Path) -> None:
    library = FlowLibrary.of_project(folder.parent)
    assert library.get("calculate").path == shipped_folder() / "calculator.py"
    write(folder, mine="def calculate(x: str) -> str:\n    return 'mine'\n")
    assert library.get("calculate").function("1") == "mine"
    assert library.definitions()["calculate"].path == folder / "mine.py"


def test_a_project_without_flows_has_those_we_ship(tmp_path: Path) -> None:
    assert FlowLibrary.of_project(tmp_path / "nowhere").get("current_time").name == "current_time"
    assert "calculate" in FlowLibrary.of_project(None).definitions()


def test_a_flow_is_named_by_its_file_or_path(folder: Path) -> None:
    write(folder, billing="def create_refund(n: int) -> int:\n    return n\n")
    write(folder.parent, worker="def decide(request: dict) -> dict:\n    return {}\n")
    library = FlowLibrary([folder])
    assert library.get("billing:create_refund").name == "create_refund"
    assert library.get("worker.py:decide", base=folder.parent).path == folder.parent / "worker.py"
    assert library.get(f"{folder.parent}/worker.py:decide").name == "decide"
    assert "has no function 'create_refnd', did you mean 'create_refund'?" in failure(library, "billing:create_refnd")
    assert f"there is no file {folder}/bill.py" in failure(library, "bill:create_refund")
    assert "there is no file" in failure(library, "gone.py:decide")


def test_flow_files_import_each_other_with_a_dot(folder: Path) -> None:
    (folder / "deep").mkdir()
    write(folder / "deep", helper="VALUE = 40\n")
    write(
        folder,
        shared="from .deep.helper import VALUE\ndef two() -> int:\n    return 2\n",
        sums="from .shared import VALUE, two\ndef total() -> int:\n    return VALUE + two()\n",
    )
    assert FlowLibrary([folder]).get("total").function() == 42


def test_the_package_file_of_a_folder_is_run_but_holds_no_flows(folder: Path) -> None:
    write(
        folder,
        __init__="UNIT = 'EUR'\ndef not_a_flow() -> None: ...\n",
        a="from . import UNIT\ndef unit() -> str:\n    return UNIT\n",
    )
    library = FlowLibrary([folder])
    assert library.get("unit").function() == "EUR"
    assert sorted(library.definitions()) == ["unit"]


def test_two_folders_may_have_files_of_one_name_and_nothing_generic_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path_before, folders = list(sys.path), [tmp_path / "a", tmp_path / "b"]
    for number, where in enumerate(folders):
        where.mkdir()
        write(where, json=f"from .util import N\ndef f{number}() -> int:\n    return N\n", util=f"N = {number}\n")
    library = FlowLibrary(folders)
    assert [library.get(f"f{number}").function() for number in (0, 1)] == [0, 1]
    assert sys.path == path_before
    assert "util" not in sys.modules
    assert hasattr(sys.modules["json"], "dumps")
    assert not list(tmp_path.rglob("__pycache__"))


def test_only_the_file_that_is_needed_is_imported(folder: Path) -> None:
    write(
        folder,
        bad="raise RuntimeError('imported')\ndef other() -> None: ...\n",
        good="def wanted() -> int:\n    return 1\n",
    )
    library = FlowLibrary([folder])
    assert library.get("wanted").function() == 1
    assert sorted(library.definitions()) == ["other", "wanted"]


@pytest.mark.parametrize("text", ["def f() -> int:\n    return 2\n", "# moved\n\ndef f() -> int:\n    return 3\n"])
def test_a_changed_file_is_seen_and_running_calls_keep_theirs(folder: Path, text: str) -> None:
    write(folder, a="from .h import N\ndef f() -> int:\n    return N\n", h="N = 1\n")
    library = FlowLibrary([folder])
    old = library.get("f")
    write(folder, a=text)
    new = library.get("f")
    assert old.function() == 1
    assert new.function() == int(text.rstrip()[-1])
    assert library.get("f") is new


def test_a_changed_helper_reaches_the_files_that_import_it(folder: Path) -> None:
    write(folder, a="from .h import N\ndef f() -> int:\n    return N\n", h="N = 1\n")
    library = FlowLibrary([folder])
    assert library.get("f").function() == 1
    write(folder, h="N = 2\n")
    assert library.get("f").function() == 2


def test_new_and_removed_files_are_noticed(folder: Path) -> None:
    library = FlowLibrary([folder])
    assert "There are none. Looked in" in failure(library, "f")
    write(folder, a="def f() -> int:\n    return 1\n")
    assert library.get("f").function() == 1
    (folder / "a.py").unlink()
    assert "There is no flow 'f'" in failure(library, "f")


def test_what_an_editor_leaves_beside_a_file_does_not_count(folder: Path) -> None:
    write(folder, a="def f() -> int:\n    return 1\n")
    (folder / ".#a.py").symlink_to("nobody@nowhere")
    (folder / ".a.py").write_text("def f() -> int:\n    return 2\n")
    (folder / "b.py").mkdir()
    (folder / "c.py").symlink_to("gone.py")
    assert FlowLibrary([folder]).get("f").function() == 1


def test_an_unknown_flow_is_told_with_what_exists_and_where_it_was_looked_for(folder: Path) -> None:
    write(folder, a="def create_refund() -> None: ...\ndef close() -> None: ...\n")
    message = failure(FlowLibrary([folder]), "create_refnd")
    assert message == (
        "There is no flow 'create_refnd', did you mean 'create_refund'? There are: close, create_refund. "
        f"Looked in {folder}."
    )


def test_a_built_in_is_not_looked_for(folder: Path) -> None:
    """A4."""
    library = FlowLibrary([folder])
    assert "'ask_user' is a built-in tool" in failure(library, "ask_user")
    write(folder, a="def ask_user() -> None: ...\n")
    assert f"{folder}/a.py:1: 'ask_user' is the name of a built-in tool" in failure(library, "ask_user")


def test_two_flows_of_one_name_are_told_with_both_places(folder: Path) -> None:
    write(
        folder,
        a="def find() -> None: ...\ndef fine() -> int:\n    return 1\n",
        b=DECORATOR + "@flow(name='find')\ndef other() -> None: ...\n",
    )
    library = FlowLibrary([folder])
    assert f"{folder}/a.py:1 and {folder}/b.py:3" in failure(library, "find")
    assert library.get("fine").function() == 1


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("def f() -> None: ...\n\nx = 1 +\n", 3, "invalid syntax"),
        ("import os\n\nimport stripe_is_absent\ndef f() -> None: ...\n", 3, "ModuleNotFoundError: No module named"),
        ("def f() -> None: ...\ndef boom():\n    return 1 / 0\nboom()\n", 3, "ZeroDivisionError"),
        ("def f() -> None: ...\nraise SystemExit(2)\n", 2, "SystemExit: 2"),
        ("import json\njson.loads('{')\ndef f() -> None: ...\n", 2, "JSONDecodeError"),
        ("from .helper import gone\ndef f() -> None: ...\n", 1, "ImportError"),
        ("import helper\ndef f() -> None: ...\n", 1, "from .helper import"),
        ("def f() -> None: ...\n\0", 1, "null bytes"),
    ],
)
def test_a_broken_file_is_told_with_its_line_and_the_others_work(
    folder: Path, text: str, line: int, reason: str
) -> None:
    write(folder, bad=text, helper="X = 1\n", good="def fine() -> int:\n    return 1\n")
    library = FlowLibrary([folder])
    message = failure(library, "f")
    assert message.startswith(f"{folder}/bad.py:{line}: this flow file cannot be imported: ")
    assert reason in message
    assert library.get("fine").function() == 1


def test_a_fault_in_an_imported_helper_is_told_at_the_helper(folder: Path) -> None:
    write(folder, a="from .h import N\ndef f() -> None: ...\n", h="\n\nN = undefined\n")
    write(folder, b="from .s import N\ndef g() -> None: ...\n", s="\n(\n")
    library = FlowLibrary([folder])
    assert failure(library, "f").startswith(f"{folder}/h.py:3: ")
    assert failure(library, "g").startswith(f"{folder}/s.py:2: ")


def test_a_broken_file_is_mentioned_when_a_name_is_missing(folder: Path) -> None:
    write(folder, bad="(\n")
    assert f"Not readable: {folder}/bad.py:1: " in failure(FlowLibrary([folder]), "anything")


def test_a_mended_file_works_at_the_next_look(folder: Path) -> None:
    write(folder, a="def f() -> int:\n    return\n1 / 0\n")
    library = FlowLibrary([folder])
    failure(library, "f")
    write(folder, a="def f() -> int:\n    return 7\n")
    assert library.get("f").function() == 7


def test_of_a_function_written_twice_the_last_counts(folder: Path) -> None:
    write(folder, a="def f() -> int:\n    return 1\n\ndef f() -> int:\n    return 2\n")
    assert FlowLibrary([folder]).get("f").function() == 2
