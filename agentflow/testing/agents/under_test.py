"""The agents of one test, as it wrote or copied them: their files, and what in them is a function of the test."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agentflow import ModelRequest, Replay
from agentflow.testing.agents.scripts import Gate, Replies, Scripts

Named = Callable[..., Any] | str | Mapping[str, Any]
"""A flow as a test gives it: a function, a name, or an entry of agent.yaml whose `flow` is one of them."""

_LOADED = ("agents", "workflows", "agentflow.yaml")

_WORKERS: dict[str, Callable[[dict[str, Any]], Any]] = {}
_NUMBERS = itertools.count(1)


def __getattr__(name: str) -> Callable[[dict[str, Any]], Any]:
    """The functions that agents name as their worker: the test's own, looked up when one is asked."""
    if name not in _WORKERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return lambda request: _WORKERS[name](request)


class AgentsUnderTest:
    """Writes the agents of a project. `is_changed` says that a runtime opened before does not know all of them,
    `has_real_models` that one has opened a model that no test gave.
    """

    def __init__(self, project: Path) -> None:
        self.requests: list[ModelRequest] = []
        self.gate = Gate()
        self.flows: dict[str, Callable[..., Any]] = {}
        self.is_changed = False
        self.has_real_models = False
        self._project = project
        self._models: dict[Path, Any] = {}
        self._workers: dict[str, str] = {}
        self._replays: list[Replay] = []

    def write(self, name: str, *, model: Any, replies: Replies, worker: Any, **keys: Any) -> Path:
        """Write an agent.yaml of these keys, in which tools, hooks and the worker may be functions; its path."""
        folder = self.folder(name)
        folder.mkdir(parents=True, exist_ok=True)
        called: dict[str, Any] = {"model": f"scripted/{name}"}
        before = self._models.get(folder)
        if isinstance(model, Mapping):
            called = {"interfaces": {"main": dict(model)}}
            self._models.pop(folder, None)
        elif model is not None:
            self._models[folder] = model
        else:
            scripts = before if isinstance(before, Scripts) else Scripts(f"scripted/{name}", self.requests, self.gate)
            scripts.add(replies)
            self._models[folder] = scripts
        self.is_changed |= before is not None and self._models.get(folder) is not before
        if worker is not None:
            keys["worker"] = self._worker(name, worker) if callable(worker) else worker
        keys["tools"] = [self._tool(tool) for tool in keys["tools"]]
        if keys["hooks"]:
            keys["hooks"] = {point: [self._tool(hook) for hook in each] for point, each in keys["hooks"].items()}
        else:
            del keys["hooks"]
        path = folder / "agent.yaml"
        path.write_text(json.dumps({"name": name, **called, **keys}, ensure_ascii=False, indent=2), encoding="utf-8")
        return path

    def copy(self, project: Path) -> None:
        """Take over the files of another project."""
        for name in _LOADED:
            source, copy = project / name, self._project / name
            if source.is_dir():
                shutil.copytree(source, copy, dirs_exist_ok=True)
            elif source.is_file():
                shutil.copyfile(source, copy)
        self.is_changed = True

    def folder(self, name: str) -> Path:
        return self._project / "agents" / name

    def script(self, replies: Replies, name: str) -> None:
        """From now on the agent's model answers with these."""
        folder = self.folder(name)
        if folder not in self._models:
            self._models[folder] = Scripts(f"scripted/{name}", self.requests, self.gate)
            self.is_changed = True
        self._models[folder].add(replies)

    def mark(self) -> Callable[[], None]:
        """Calling what is returned goes back to the replies that are left now."""
        left = [(model, model.left()) for model in self._models.values() if isinstance(model, Scripts)]

        def go_back() -> None:
            for model, replies in left:
                model.add(replies)

        return go_back

    def replay(self, recording: Path) -> None:
        """From now on models that no test gave answer from a recording."""
        self._replays.append(Replay(recording))
        self.is_changed = True

    def requests_of(self, name: str) -> list[ModelRequest]:
        model = self._models.get(self.folder(name))
        return list(model.asked) if isinstance(model, Scripts) else []

    def open_model(self, interface: Any, folder: Path) -> Any:
        """The model that a test gave the agent in this folder, null for the one its file names."""
        model = self._models.get(folder)
        if model is None and self._replays:
            return self._replays[-1](interface, folder)
        self.has_real_models |= model is None
        return model

    def leftovers(self) -> list[str]:
        """A sentence for each agent whose scripts have replies nobody asked for."""
        unused = {folder.name: model.unused() for folder, model in self._models.items() if isinstance(model, Scripts)}
        left = [f"agent {name!r}: {count} scripted replies were not used" for name, count in unused.items() if count]
        recorded = sum(len(replay.unused()) for replay in self._replays)
        return [*left, f"{recorded} recorded replies were not used"] if recorded else left

    def _tool(self, tool: Named) -> Any:
        if isinstance(tool, Mapping):
            return {**tool, "flow": self._tool(tool["flow"])} if "flow" in tool else dict(tool)
        return self._flow(tool) if callable(tool) else tool

    def _flow(self, function: Callable[..., Any]) -> str:
        mark = getattr(function, "__agentflow_flow__", None)
        name = str((mark and mark.name) or function.__name__)
        if self.flows.get(name) is not function:
            self.flows[name] = function
            self.is_changed = True
        return name

    def _worker(self, agent: str, function: Callable[..., Any]) -> str:
        name = self._workers.setdefault(agent, f"worker_{next(_NUMBERS)}")
        _WORKERS[name] = function
        return f"{__name__}:{name}"

    def close(self) -> None:
        """Let go of the functions of the test."""
        for name in self._workers.values():
            del _WORKERS[name]
