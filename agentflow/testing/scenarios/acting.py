"""What each action of a step does with the kit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentflow import InvalidInput, TurnResult
from agentflow.testing.kit import Kit

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
NEXT_TIMER = "next_timer"


@dataclass(frozen=True, slots=True)
class Left:
    """Where a step left its session: the head, and the message that its user sent, null for neither."""

    head_id: str | None
    sent_id: str | None


@dataclass(slots=True)
class Acting:
    """Performs the steps of one run, with files out of the test's `folder`; `left` is where those with an id left their
    session.
    """

    kit: Kit
    folder: Path
    left: dict[str, Left] = field(default_factory=dict)

    def perform(self, step: Any) -> TurnResult | None:
        """What the step's turn came to; null for a step that lets none end. Raises what the kit raises."""
        action = step.action()
        if not step.wait:
            self.kit.hold()
        elif action != "stop":  # what is stopped has not said anything yet
            self.kit.release()
        result = None if action is None else _ACTIONS[action](self, step)
        if step.wait:
            self.kit.release()
            self.kit.until_named()  # or the next step would meet its commits
        return result

    def _send(self, step: Any) -> TurnResult | None:
        queue: Any = "merge" if step.merge else bool(step.queue)
        files = [{"type": "file", "name": Path(each).name, "data": self._bytes(each)} for each in step.attach]
        content = [{"type": "text", "text": step.send}, *files] if files else step.send
        message = {"role": "user", "content": content}
        return self._deliver(step, {"type": "client.message", "message": message, "queue": queue})

    def _bytes(self, file: str) -> bytes:
        try:
            return (self.folder / file).read_bytes()
        except OSError as error:
            raise InvalidInput(f"attach: {file}: {error.strerror}", detail={"field": "attach"}) from None

    def _input(self, step: Any) -> TurnResult | None:
        return self._deliver(step, unfrozen(step.input))

    def _deliver(self, step: Any, given: dict[str, Any]) -> TurnResult | None:
        if step.inputs:
            given["inputs"] = unfrozen(step.inputs)
        receipt = self.kit.submit(given, step.session, limits=unfrozen(step.limits) or None)
        return self._result(step, receipt.turn_id)

    def _result(self, step: Any, turn_id: str) -> TurnResult | None:
        return self.kit.result(turn_id, step.session) if step.wait and turn_id else None

    def _answer(self, step: Any) -> TurnResult | None:
        answers = unfrozen(step.answers) if step.answers is not None else None
        runtime = self.kit.runtime
        receipt = self.kit.run(runtime.answer(step.session, answers=answers, text=step.answer))
        return self._result(step, receipt.turn_id)

    def _settle(self, step: Any) -> TurnResult | None:
        settled = self.kit.settle(unfrozen(step.result), step.session)
        return self._result(step, settled["turn_id"])

    def _edit(self, step: Any) -> TurnResult | None:
        parents = {node["message"]["id"]: node for node in self.kit.tree(step.session)["nodes"]}
        sent = self.left[step.edit.step].sent_id
        before: list[dict[str, Any]] = []
        at = parents[sent]["parent_id"] if sent in parents else None
        while at is not None:
            before.insert(0, parents[at]["message"])
            at = parents[at]["parent_id"]
        said = {"role": "user", "content": step.edit.text}
        return self._deliver(step, {"type": "client.messages", "messages": [*before, said]})

    def _regenerate(self, step: Any) -> TurnResult | None:
        path = self.kit.path(step.session)
        asked = max((index for index, message in enumerate(path) if message["role"] == "user"), default=-1)
        return self._deliver(step, {"type": "client.messages", "messages": path[: asked + 1]})

    def _switch(self, step: Any) -> None:
        head_id = self.left[step.switch].head_id
        if head_id is not None:
            self.kit.checkout(head_id, step.session)

    def _advance(self, step: Any) -> None:
        if step.advance == NEXT_TIMER:
            self.kit.advance_to_next_timer()
        else:
            self.kit.advance(float(step.advance[:-1]) * _UNITS[step.advance[-1]])

    def _stop(self, step: Any) -> TurnResult | None:
        stopped = self.kit.stop(step.session)
        return self._result(step, stopped["turn_id"] or "")

    def _run_all(self, step: Any) -> TurnResult | None:
        self.kit.until_idle()
        return self._latest(step.session)

    def _restart(self, step: Any) -> None:
        self.kit.restart()

    def _latest(self, session: str) -> TurnResult | None:
        ended = self.kit.events("done", session=session)
        return self.kit.result(ended[-1].data["turn_id"], session) if ended else None


def unfrozen(value: Any) -> Any:
    """A value of a file as plain JSON data."""
    if isinstance(value, Mapping):
        return {name: unfrozen(each) for name, each in value.items()}
    return [unfrozen(each) for each in value] if isinstance(value, list | tuple) else value


_ACTIONS: Mapping[str, Callable[[Acting, Any], TurnResult | None]] = {
    "send": Acting._send,
    "input": Acting._input,
    "answer": Acting._answer,
    "answers": Acting._answer,
    "result": Acting._settle,
    "edit": Acting._edit,
    "regenerate": Acting._regenerate,
    "switch": Acting._switch,
    "advance": Acting._advance,
    "stop": Acting._stop,
    "run_all": Acting._run_all,
    "restart": Acting._restart,
}
