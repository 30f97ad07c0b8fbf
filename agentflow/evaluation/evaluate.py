"""Making cases of conversations and running them (R9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from agentflow import clock
from agentflow.agents.loading import OpenModel
from agentflow.agents.project_folder import open_project
from agentflow.config.agent_config import AgentConfig
from agentflow.config.keys.references import REFERENCE
from agentflow.config.last_good import AgentFiles
from agentflow.config.project import sub_agent_reference
from agentflow.conversation import arguments
from agentflow.errors import InvalidInput
from agentflow.evaluation.attempt import Place, attempt
from agentflow.evaluation.capture import capture
from agentflow.evaluation.case_file import Case, case_text, read_case
from agentflow.evaluation.judge import Judge
from agentflow.evaluation.report import CaseReport, Evaluation
from agentflow.evaluation.stand_in import WORKER
from agentflow.models.open import open_model as open_usual
from agentflow.models.recording.recording_file import read_recording
from agentflow.models.recording.replay import Replay
from agentflow.runtime import Runtime

MAX_TIMES = 1_000


async def capture_case(runtime: Runtime, session_id: str, *, turn: int | None = None) -> tuple[str, list[str]]:
    """The text of a case made of a session, and what it lacks, a sentence each.

    It has one turn, by number, with what was said before it as its history, or without `turn` all turns of the active
    path. Secrets are taken out. Raises `SessionNotFound`, `TurnNotFound`, and `InvalidInput` for a turn that has not
    ended, whose words were erased (R5), or which is more than a file of a case may hold.
    """
    number = None if turn is None else arguments.whole_number(turn, "turn", least=1)
    export = await runtime.records.export(session_id, "json")
    captured = await asyncio.to_thread(capture, export or "", number)  # a long session would hold the loop (Z3)
    return await asyncio.to_thread(case_text, captured.case), captured.lacks


async def run_cases(
    cases: Sequence[str | Path],
    project: str | Path = ".",
    *,
    times: int = 1,
    judge: str | None = None,
    replay: str | Path | None = None,
    live_tools: Collection[str] = (),
    flows: Sequence[Callable[..., Any]] = (),
    open_model: OpenModel | None = None,
    begun: Callable[[str, int], None] | None = None,
) -> Evaluation:
    """Run files of cases with the agents of a project, each `times` times, in sessions that nobody else sees.

    Loaders, tools and workers are answered by the case, unless `live_tools` names them (`worker` for workers). `judge`
    is `llm://NAME`, an interface of the case's agent, and judges what has a rubric. `replay` is a recording whose
    replies are given in place of the agents' models. `flows` and `open_model` are as `Runtime.open` takes them, and
    `begun` is called with a case's file and the number of its attempt. Raises `InvalidConfig` for a file that is no
    case, `AgentNotFound`, and `InvalidInput` naming the argument; then nothing has run.
    """
    arguments.whole_number(times, "times", least=1)
    if times > MAX_TIMES:
        raise InvalidInput(f"times: at most {MAX_TIMES}, not {times}.", detail={"field": "times"})
    root, files = open_project(project)
    read = [read_case(path) for path in cases]
    families = [_family(files, case.keys.agent) for case in read]
    _check_live(live_tools, read, families)
    judges = [_judge(judge, family[0], open_model) for family in families]
    if replay is not None:
        read_recording(Path(replay))
    reports = []
    try:
        for case, family, one in zip(read, families, judges, strict=True):
            made = []
            for number in range(1, times + 1):
                if begun is not None:
                    begun(case.name, number)
                models = open_model if replay is None else Replay(replay)
                place = Place(root, frozenset(live_tools), flows, models)
                made.append(await attempt(case.keys, family[0].name, place, one))
            reports.append(CaseReport(case.name, family[0].name, made))
    finally:
        for one in judges:
            if one is not None:
                await one.model.close()
    return Evaluation(reports)


def _family(files: AgentFiles, reference: str) -> list[AgentConfig]:
    """An agent and all its sub-agents."""
    found: dict[Path, AgentConfig] = {}
    waiting = [reference]
    while waiting:
        config = files.get(waiting.pop(0))
        if config.path not in found:
            found[config.path] = config
            waiting += [sub_agent_reference(config, name) for name in config.sub_agents]
    return list(found.values())


def _check_live(live: Collection[str], cases: Sequence[Case], families: Sequence[Sequence[AgentConfig]]) -> None:
    known = {entry.name for family in families for config in family for entry in config.tools}
    known |= {call.name for case in cases for turn in case.keys.turns for call in turn.tools}
    if unknown := [name for name in live if name not in (known | {WORKER})]:
        there_are = ", ".join([*sorted(known), WORKER])
        raise InvalidInput(
            f"live_tools: no agent of these cases has a tool {unknown[0]!r}; there are {there_are}.",
            detail={"field": "live_tools"},
        )


def _judge(reference: str | None, config: AgentConfig, open_model: OpenModel | None) -> Judge | None:
    """The model that judges the cases of an agent. Raises `InvalidInput` for one it has not."""
    if reference is None:
        return None
    name = reference.removeprefix(REFERENCE)
    if not reference.startswith(REFERENCE) or name not in config.interfaces:
        there_are = ", ".join(REFERENCE + each for each in config.interfaces)
        raise InvalidInput(
            f"judge: agent {config.name!r} has no interface {reference!r}; it has {there_are}.",
            detail={"field": "judge"},
        )
    interface, settings = config.interfaces[name], config.settings
    own = None if open_model is None else open_model(interface, config.folder)
    model = own or open_usual(interface, config.folder, f"judge {clock.uuid7()}")
    return Judge(model, settings.llm_timeout_secs, settings.llm_retries)
