"""`agentflow run`: the result alone on standard output, an exit code for each end, sessions that go on."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command
from tests.pictures import png


def test_standard_output_is_the_answer_and_nothing_else(agentflow: Command) -> None:
    done = agentflow("run", "echo", "Hello there")
    assert (done.code, done.out) == (0, "Hello there\n")


def test_a_scripted_answer_says_so_on_standard_error(agentflow: Command) -> None:
    assert "script" in agentflow("run", "echo", "Hello").err


def test_json_is_the_result_as_one_object(agentflow: Command) -> None:
    done = agentflow("run", "echo", "-s", "s-1", "--json", "Hello")
    result = json.loads(done.out)
    assert result["schema"] == "agentflow.result/1"
    assert (result["session_id"], result["state"], result["answer"]) == ("s-1", "done", "Hello")
    assert (result["question"], result["limit"], result["aborted"], result["error"]) == (None, None, False, None)
    assert result["usage"]["total"] == result["usage"]["input"] + result["usage"]["output"]


def test_json_lines_are_the_events_in_order_and_the_result_last(agentflow: Command) -> None:
    *events, result = map(json.loads, agentflow("run", "slow", "-s", "s-1", "--jsonl", "Hello").out.splitlines())
    logged = [event["seq"] for event in events if event["seq"] is not None]
    assert logged == list(range(1, len(logged) + 1))
    assert events[-1]["type"] == "done"
    assert "llm.delta" in {event["type"] for event in events}
    assert result["schema"] == "agentflow.result/1"


def test_a_session_goes_on_in_the_next_process(agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "s-1", "First")
    agentflow("run", "echo", "-s", "s-1", "Second")
    assert agentflow("sessions", "show", "s-1").out.count("user: ") == 2


def test_continue_takes_the_newest_session_of_this_agent(agentflow: Command) -> None:
    for session, agent in (("s-1", "echo"), ("s-2", "echo"), ("s-3", "broken")):
        agentflow("run", agent, "-s", session, "x")
    for agent in ("echo", "agents/echo", "agents/echo/agent.yaml"):
        assert json.loads(agentflow("run", agent, "-c", "--json", "y").out)["session_id"] == "s-2"


def test_continue_without_a_session_says_so(agentflow: Command) -> None:
    done = agentflow("run", "echo", "-c", "y")
    assert (done.code, done.out) == (3, "")
    assert "session_not_found" in done.err


def test_inputs_reach_the_agent(agentflow: Command) -> None:
    assert agentflow("run", "informed", "--input", "city=Paris", "Hello").code == 0
    missing = agentflow("run", "informed", "Hello")
    assert (missing.code, missing.out) == (2, "")
    assert "city" in missing.err


def test_an_input_is_read_by_the_type_it_is_declared_with(agentflow: Command) -> None:
    given = ("run", "informed", "--input", "city=7", "Hello", "--input")
    assert agentflow(*given, "days=3").code == 0
    refused = agentflow(*given, "days=three")
    assert (refused.code, "days" in refused.err) == (2, True)


def test_an_input_that_is_no_pair_is_a_usage_error(agentflow: Command) -> None:
    assert agentflow("run", "informed", "--input", "Paris", "Hello").code == 2


def test_a_turn_without_text_is_a_usage_error(agentflow: Command) -> None:
    done = agentflow("run", "echo")
    assert done.code == 2
    assert "TEXT" in done.err


def test_a_text_without_its_quotes_is_told_so(agentflow: Command) -> None:
    done = agentflow("run", "echo", "How", "are", "you?")
    assert (done.code, done.out) == (2, "")
    assert "put it into quotes" in done.err


def test_an_agent_that_is_not_there_gives_3_and_where_agents_are_looked_for(agentflow: Command) -> None:
    done = agentflow("run", "nobody", "Hello")
    assert (done.code, done.out) == (3, "")
    assert "agent_not_found" in done.err
    assert "--project" in done.err


def test_a_failed_turn_gives_1_and_one_line_that_says_why(agentflow: Command) -> None:
    done = agentflow("run", "broken", "Hello")
    assert (done.code, done.out) == (1, "")
    (why,) = [line for line in done.err.splitlines() if not line.startswith(("note: ", "session: "))]
    assert why.startswith("error (model_error.auth): ")
    assert "Traceback" not in done.err


def test_an_answer_that_was_cut_is_printed_and_told_to_be_cut(agentflow: Command) -> None:
    done = agentflow("run", "cut", "Hello")
    assert (done.code, done.out) == (0, "This far and\n")
    assert "the answer was cut at the model's output limit" in done.err
    assert json.loads(agentflow("run", "cut", "Hello", "--json").out)["truncated"] is True


def test_a_turn_that_failed_at_a_limit_gives_6(agentflow: Command) -> None:
    done = agentflow("run", "restless", "--max-iterations", "2", "Hello")
    assert done.code == 6
    assert "limit_reached" in done.err


def test_a_session_of_another_agent_is_refused(agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "s-1", "Hello")
    done = agentflow("run", "slow", "-s", "s-1", "Hello")
    assert done.code == 2
    assert "session_agent_mismatch" in done.err


def test_every_mistake_of_an_agent_yaml_is_told_with_its_place(agentflow: Command, project: Path) -> None:
    """B67"""
    mistaken = project / "agents" / "echo" / "agent.yaml"
    mistaken.write_text(mistaken.read_text() + "instrutions: x\nlean_history: true\n")
    done = agentflow("run", "echo", "Hello")
    assert (done.code, done.out) == (2, "")
    assert "agent.yaml:4:1: instrutions: unknown key" in done.err
    assert "agent.yaml:5:1: lean_history: unknown key" in done.err


def test_the_database_is_the_one_named(agentflow: Command, project: Path) -> None:
    agentflow("run", "echo", "--db", "elsewhere.db", "-s", "s-1", "Hello")
    assert (project / "elsewhere.db").exists()
    assert agentflow("sessions", "show", "s-1").code == 3
    assert agentflow("sessions", "show", "s-1", "--db", "elsewhere.db").code == 0


def test_a_question_without_a_terminal_gives_4_and_is_answered_by_the_next_text(agentflow: Command) -> None:
    """B79: never an invented answer, never a hang."""
    asked = agentflow("run", "asking", "-s", "s-1", "--json", "Hello")
    assert asked.code == 4
    assert json.loads(asked.out)["question"]["questions"][0]["question"] == "Which one?"
    assert "Which one?" in asked.err
    assert "answer with: agentflow answer s-1 TEXT\n" in asked.err
    answered = agentflow("run", "asking", "-s", "s-1", "Pro")
    assert answered.code == 0
    assert "Plan: Pro" in answered.out


def test_files_go_with_the_text_or_alone(agentflow: Command, tmp_path: Path) -> None:
    """W4: a path is one only here; what the file is, its bytes say."""
    picture, text = tmp_path / "cat.jpg", tmp_path / "notes.txt"
    picture.write_bytes(png())
    text.write_text("remember")
    agentflow("run", "echo", "-s", "s-1", "Look", "--attach", str(picture), "--attach", str(text))
    shown = agentflow("sessions", "show", "s-1").out
    assert f"[image cat.jpg (image/png, {len(png())} bytes)]" in shown
    assert "[file notes.txt (text/plain, 8 bytes)]" in shown
    assert agentflow("run", "slow", "-s", "s-2", "--attach", str(picture)).code == 0
    missing = agentflow("run", "echo", "Look", "--attach", str(tmp_path))
    assert (missing.code, "there is no such file" in missing.err) == (2, True)
