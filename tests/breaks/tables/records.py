"""What is kept beside the turns: names, snapshots, counts, requests, memory, retention, exports."""

from __future__ import annotations

from tests.breaks.entry import Break

_NAMING = "scenarios/records/test_naming.py"
_SNAPSHOTS = "scenarios/records/test_snapshots.py"
_INSIGHTS = "scenarios/records/test_insights.py"
_RETENTION = "scenarios/records/test_retention.py"
_SENT = "scenarios/records/test_sent_requests.py"

BREAKS = (
    Break(
        "name-overwrites",
        "store/ledger/names.py",
        "WHERE key = ? AND name IS NULL RETURNING seq",
        "WHERE key = ? RETURNING seq",
        (f"{_NAMING}::test_a_name_that_a_person_gives_meanwhile_stays",),
        "A model's name goes in place of a person's.",
    ),
    Break(
        "name-tries",
        "store/session/session_row.py",
        "NAME_TRIES = 3",
        "NAME_TRIES = 30",
        (f"{_NAMING}::test_there_are_at_most_three_tries_a_session",),
        "A session is tried to be named for ever.",
    ),
    Break(
        "name-of-pause",
        "turn/step_runner.py",
        "state == TurnState.DONE and answer",
        "answer",
        (f"{_NAMING}::test_a_turn_that_was_stopped_after_text_is_not_named_and_a_later_one_is",),
        "A stopped turn is named.",
    ),
    Break(
        "name-of-refusal",
        "records/naming.py",
        " or _REFUSAL.match(name)",
        "",
        ("unit/records/test_naming.py",),
        "A refusal is the name of a chat.",
    ),
    Break(
        "snapshot-evaluation",
        "turn/rules/snapshots.py",
        'if environment == "evaluation":',
        'if environment == "evaluations":',
        (f"{_SNAPSHOTS}::test_in_evaluation_nothing_is_loaded_or_snapshotted",),
        "Evaluations are snapshotted.",
        unnoticed="Captured data is given before anybody asks whether it is kept; nothing is loaded in an evaluation.",
    ),
    Break(
        "snapshot-sample",
        "turn/rules/snapshots.py",
        "SnapshotDecision(drawn < rate,",
        "SnapshotDecision(drawn <= 1,",
        (f"{_SNAPSHOTS}::test_a_sample_takes_the_sessions_that_the_hash_of_their_id_says",),
        "A sample takes every session.",
    ),
    Break(
        "snapshot-given-up",
        "turn/calls/entity_data.py",
        "        if context.cancelled():\n            return\n",
        "",
        ("scenarios/records/test_memory.py::test_a_call_that_was_given_up_saves_nothing_however_late",),
        "What a flow loads after its call was given up is kept.",
    ),
    Break(
        "memory-given-up",
        "tools/flows/memory.py",
        "if not self._cancelled():",
        "if True:",
        ("scenarios/records/test_memory.py::test_a_call_that_was_given_up_saves_nothing_however_late",),
        "A note of a call that was given up is kept.",
    ),
    Break(
        "count-failed-calls",
        "store/ended/counting.py",
        'failed=status != "completed"',
        "failed=False",
        (_INSIGHTS,),
        "Failed model calls do not count as failed.",
    ),
    Break(
        "count-pauses",
        "store/ended/counting.py",
        "    counted.duration_ms += max(ended_at - opened_at, 0) // MILLISECOND",
        "    counted.duration_ms = max(ended_at - counted.started_at, 0) // MILLISECOND",
        (_INSIGHTS,),
        "A turn's time has its pauses in it.",
    ),
    Break(
        "insights-titles",
        "records/insights.py",
        "        group_of(call.agent, call.at).spend(call._asdict())\n",
        "        pass\n",
        (f"{_INSIGHTS}::test_title_calls_are_in_the_sums_and_in_no_turn",),
        "Calls that name chats cost nothing.",
    ),
    Break(
        "usage-of-turn",
        "store/session/close_turn.py",
        "key, key, turn, turn, events.LLM_CALL_REQUESTED,",
        "key, key, turn, turn, events.LLM_CALL_ERRORED,",
        ("contract/test_store_closing.py::test_the_end_says_when_why_and_what_it_took",),
        "A turn that is closed has used nothing.",
    ),
    Break(
        "sent-parameters",
        "turn/calls/sent_request.py",
        'return {"parameters": blob(compact_json(said))} if said else {}',
        "return {}",
        (f"{_SENT}::test_a_request_is_shown_byte_for_byte_as_the_server_received_it",),
        "The exact request lacks its parameters.",
    ),
    Break(
        "sent-lean",
        "turn/calls/sent_request.py",
        '"lean": is_lean,',
        '"lean": True,',
        (_SENT,),
        "A request that was sent whole is made again lean.",
    ),
    Break(
        "retention-running",
        "records/retention.py",
        "free = [(each, before) for each, before in due if each.busy is None]",
        "free = list(due)",
        (f"{_RETENTION}::test_a_running_and_a_queued_session_stay_and_are_named",),
        "Sessions that run are swept.",
        unnoticed="The transaction that deletes looks once more whether a session is busy.",
    ),
    Break(
        "retention-own-days",
        "records/retention.py",
        "days = None if age is not None else self._files.retention_days(agent)",
        "days = None if age is not None else self._files.project.keys.retention_days",
        (f"{_RETENTION}::test_an_agents_own_retention_goes_before_its_projects",),
        "An agent's own retention_days has no effect.",
    ),
    Break(
        "export-secrets",
        "records/moving.py",
        "write(redacted(session))",
        "write(session)",
        ("scenarios/records/test_moving_everything.py::test_a_secret_that_is_known_now_is_in_no_text_of_an_export",),
        "An export tells a secret.",
    ),
    Break(
        "executions-status",
        "reading/runs.py",
        'over = state in ENDED and row["status"] in _UNENDED',
        "over = False",
        ("scenarios/records/test_executions.py",),
        "A run of a turn that is over reads as running.",
    ),
)
