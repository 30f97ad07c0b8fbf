"""A session as its export has it, asked for what a case needs. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentflow import events
from agentflow.conversation.state import same_json
from agentflow.media.files import HASH, File, with_small_bodies
from agentflow.message import text_of
from agentflow.store.records import STATE
from agentflow.tools.flows.reserved import BUILTIN_NAMES
from agentflow.turn.rules.packed_json import unpack

Row = Mapping[str, Any]


class Exported:
    """The rows of an export `agentflow.session/1`. `path` is the conversation as it stands, from the root on,
    `left_out` the files that were too large for what was asked so far.
    """

    def __init__(self, text: str) -> None:
        told = json.loads(text)
        self.session: Row = told["session"]
        self.turns: dict[int, Row] = {row["number"]: row for row in told["rows"]["turn"]}
        self.steps: Sequence[Row] = told["rows"]["step"]
        self._rows: Mapping[str, Sequence[Row]] = told["rows"]
        self._by_id = {row["id"]: row for row in told["rows"]["message"]}
        self._at = {(row["branch"], row["depth"]): row for row in told["rows"]["message"]}
        self._branches = {row["number"]: row for row in told["rows"]["branch"]}
        self._runs = {row["number"]: row for row in told["rows"]["execution"]}
        self.left_out: list[str] = []
        self._files = [File(row["hash"], row["body"]) for row in told["rows"]["blob"] if HASH.fullmatch(row["hash"])]
        self._bodies = {row["hash"]: row["body"] for row in told["rows"]["snapshot_data"]}

    @property
    def path(self) -> list[Row]:
        session = self.session
        return [] if session["branch"] is None else self.up_to(session)

    def turns_on_path(self) -> list[int]:
        """Those whose last message is on it, whatever a compaction has copied since."""
        on_path = {self.content(row)["id"] for row in self.path}
        return [turn for turn in self.turns if (own := self.messages(turn)) and own[-1]["id"] in on_path]

    def messages(self, turn: int) -> list[Row]:
        """What the turn itself wrote into the conversation, in order; no copies, summaries and runs of sub-agents."""
        told = (self._by_id.get(ref) for ref in self._told(turn, events.MESSAGE_NEW))
        return [row for row in told if row is not None and row["turn"] == turn and self._is_main(row)]

    def delivered(self, turn: int) -> int:
        """How many of these messages came with the request."""
        rows = [row for row in self._rows["event"] if row["turn"] == turn]
        begun = next((row["seq"] for row in rows if row["type"] == events.STEP_STARTED), 0)
        before = {row["ref"] for row in rows if row["type"] == events.MESSAGE_NEW and row["seq"] < begun}
        return sum(row["id"] in before for row in self.messages(turn))

    def content(self, row: Row) -> Row:
        """The row that has the words, files with their bytes: of a copy, its original."""
        original: Row = self._by_id.get(row["copied_from"], row)
        parts, large = with_small_bodies(original["parts"], self._files)
        self.left_out += [each for each in large if each not in self.left_out]
        return {**original, "parts": parts}

    def up_to(self, at: Row) -> list[Row]:
        """The messages from the root to the place of a row, its own included."""
        branch, depth = at["branch"], at["depth"]
        pieces: list[list[Row]] = []
        while branch is not None:
            pieces.append([self._at[branch, each] for each in range(1, depth + 1) if (branch, each) in self._at])
            row = self._branches[branch]
            branch, depth = row["parent"], row["fork_depth"]
        return [row for piece in reversed(pieces) for row in piece]

    def client_tools(self, turn: int) -> list[dict[str, Any]]:
        """The tools that the request's client performs (C37)."""
        wanted = self.turns[turn]["tools_hash"]
        return next((json.loads(row["body"]) for row in self._rows["blob"] if row["hash"] == wanted), [])

    def calls(self, turn: int) -> Iterator[tuple[Row, str, str, bool]]:
        """Each tool call of the turn: its row, arguments as JSON text, result, and whether the main agent made it."""
        for row in self._rows["tool_call"]:
            if row["turn"] == turn:
                asked = self._by_id.get(row["reply_id"])
                result = self._by_id.get(row["result_id"])
                arguments = next((each[2] for each in (asked or {}).get("calls") or () if each[0] == row["id"]), None)
                text = row["full_result"] or (None if result is None else text_of(result["parts"] or result["content"]))
                if arguments is not None:
                    yield row, arguments, text or "", self._runs[row["execution"]]["parent"] is None

    def performed(self, turn: int) -> Iterator[tuple[Row, str, str, bool]]:
        """Those that somebody was given to perform, other than what every agent can do by itself."""
        for call in self.calls(turn):
            if call[0]["started_at"] is not None and call[0]["name"] not in BUILTIN_NAMES:
                yield call

    def answers(self, turn: int) -> list[str]:
        """What the questions of the turn were answered with, as the model read it."""
        told = {row["id"]: text for row, _, text, _ in self.calls(turn)}
        asked = [row for row in self._rows["question"] if row["turn"] == turn and row["state"] == "answered"]
        order = {ref: index for index, ref in enumerate(self._told(turn, events.ASK_USER))}
        asked = [row for row in asked if row["kind"] == "questions" and row["call_id"] in told]
        return [told[row["call_id"]] for row in sorted(asked, key=lambda row: order.get(row["call_id"], 0))]

    def snapshots(self, turn: int) -> list[Row]:
        """What flows loaded, in order."""
        return [row for row in self._rows["snapshot"] if row["turn"] == turn]

    def data(self, snapshot: Row) -> Any:
        """The data of a snapshot that has some."""
        return unpack(base64.b64decode(self._bodies[snapshot["hash"]]))

    def state(self, path: Sequence[Row]) -> Any:
        """The agent's state in force where this path ends, null for none."""
        places = {(row["branch"], row["depth"]) for row in path} | {(None, None)}
        versions = [row for row in self._rows["state_version"] if row["kind"] == STATE]
        on_path = [row["value"] for row in versions if (row["branch"], row["depth"]) in places]
        return on_path[-1] if on_path and not same_json(on_path[-1], {}) else None

    def answer(self, turn: int) -> str | None:
        """What the user read at the end of the turn, null for nothing."""
        step = next(row for row in reversed(self.steps) if row["turn"] == turn)
        row = self._by_id.get(step["answer_id"])
        return None if row is None else text_of(row["parts"] or row["content"])[: step["answer_chars"]]

    def _told(self, turn: int, kind: str) -> list[str]:
        return [row["ref"] for row in self._rows["event"] if row["turn"] == turn and row["type"] == kind]

    def _is_main(self, row: Row) -> bool:
        run = self._runs.get(row["execution"])
        return row["copied_from"] is None and row["written_as"] is None and (run is None or run["parent"] is None)
