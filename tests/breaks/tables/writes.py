"""The jobs of the store: the fence, releases, settling, stopping, moving."""

from __future__ import annotations

from tests.breaks.entry import Break

BREAKS = (
    Break(
        "fence-epoch", "store/jobs/append.py",
        "key = ? AND epoch = ? AND turn = ? RETURNING",
        "key = ? AND epoch >= ? AND turn = ? RETURNING",
        (
            "contract/test_store_writes.py::test_a_writer_is_refused_when_its_own_turn_was_taken_up_by_anothe"
        "r",
        ),
        "A writer of an earlier epoch writes on.",
    ),
    Break(
        "fence-turn", "store/jobs/append.py",
        "AND turn = ? RETURNING",
        "AND coalesce(turn, 1) >= ? RETURNING",
        ("contract/test_store_writes.py::test_a_turn_that_ended_writes_nothing_more",),
        "A turn that has ended writes on.",
    ),
    Break(
        "release-owner", "store/jobs/append.py",
        '"owner = NULL, lease_until = NULL, stop_turn = NULL, updated_at',
        '"stop_turn = NULL, updated_at',
        ("contract/test_store_writes.py::test_the_end_releases_the_session",),
        "The end of a turn leaves its owner at the session.",
    ),
    Break(
        "pause-keeps-stop", "store/jobs/append.py",
        '_RELEASE.replace("stop_turn = NULL, ", "")',
        "_RELEASE",
        ("contract/test_store_closing.py",),
        "A stop that came while the turn paused is forgotten.",
    ),
    Break(
        "end-time", "store/jobs/append.py",
        "ended_at = log[-1].at if log else last.at",
        "ended_at = 0",
        ("contract/test_store_writes.py",),
        "When a turn ended is not what its last event tells.",
    ),
    Break(
        "end-next", "store/jobs/append.py",
        "if write.owning is None or not queued:",
        "if write.owning is None or queued:",
        ("scenarios/test_queueing.py", "scenarios/test_waking_queues.py"),
        "The end of a turn does not begin the next one.",
    ),
    Break(
        "end-erase", "store/jobs/append.py",
        "    if write.erase:\n"
        "        erase(tx, last.session_key, last.turn)\n"
        "    if write.owning",
        "    if write.owning",
        ("scenarios/test_observability.py::test_no_text_of_the_turn_is_left_anywhere",),
        "Without observability a turn that is done stays.",
    ),
    Break(
        "close-erase", "store/jobs/append.py",
        "        erase(tx, last.session_key, last.turn)\n"
        "        session.head = None\n",
        "        pass\n",
        ("scenarios/test_pauses.py::test_a_turn_that_failed_is_erased_too",),
        "Without observability a failed turn stays.",
    ),
    Break(
        "close-release", "store/jobs/append.py",
        "    session.release()\n"
        "    if write.erase",
        "    if write.erase",
        ("contract/test_store_closing.py",),
        "A failed turn keeps its session.",
    ),
    Break(
        "close-next", "store/jobs/append.py",
        "_following(tx, session, write.owning), closed)",
        "None, closed)",
        ("contract/test_store_closing.py",),
        "The queue stands still after a turn that failed.",
    ),
    Break(
        "renew-owner", "store/jobs/append.py",
        "WHERE owner = ? AND key IN",
        "WHERE ? <> '' AND key IN",
        ("contract/test_store_writes.py::test_renewing_extends_only_the_owners_leases",),
        "A process renews the leases of others.",
    ),
    Break(
        "delete-running", "store/jobs/append.py",
        "if turn_id is not None and alive(",
        "if turn_id is None and alive(",
        ("contract/test_store_writes.py::test_a_running_session_is_not_deleted",),
        "A session is deleted under its running turn.",
    ),
    Break(
        "close-erased-head", "store/jobs/append.py",
        "        session.head = None\n",
        "",
        ("scenarios/test_pauses.py::test_a_turn_that_failed_is_erased_too",),
        "After a failed turn that was erased the head names a message that is gone.",
    ),
    Break(
        "view-epoch", "store/jobs/merge_view.py",
        "(session.epoch, session.turn) != (request.epoch, request.turn)",
        "session.turn != request.turn",
        (
            "contract/test_store_claims.py::test_the_one_who_answers_a_question_has_the_turn_and_who_had_it_w"
        "rites_nothing_more",
        ),
        "A worker's view is merged for a turn that another process has.",
    ),
    Break(
        "view-forks", "store/jobs/merge_view.py",
        "forks = not written and",
        "forks = False and",
        ("contract/test_store_closing.py",),
        "After a view that goes back the next message overwrites what follows there.",
    ),
    Break(
        "view-head-moved", "store/jobs/merge_view.py",
        "if merged.head_moved:",
        "if False:",
        ("contract/test_store_closing.py",),
        "A view that moves the head does not say so.",
    ),
    Break(
        "view-paused", "store/jobs/merge_view.py",
        "if merged.paused:",
        "if False:",
        ("contract/test_store_closing.py",),
        "A worker's view may end at the question of another turn.",
    ),
    Break(
        "move-running", "store/jobs/move_head.py",
        "if request.alive(session.owner",
        "if False and request.alive(session.owner",
        ("scenarios/test_branches.py::test_a_move_to_an_unknown_message_or_during_a_turn_is_refused",),
        "The head moves away under a running turn.",
    ),
    Break(
        "move-twice", "store/jobs/move_head.py",
        "    if request.turn_id is not None:\n"
        "        session.rows",
        "    if False:\n"
        "        session.rows",
        ("scenarios/test_turn_ids.py",),
        "A move that is sent again moves again.",
    ),
    Break(
        "move-wakes", "store/jobs/move_head.py",
        "started = wake(tx, session, request.wake)",
        "started = None",
        ("scenarios/test_waking_queues.py",),
        "A pause that is left by a move holds its queue up.",
    ),
    Break(
        "settle-closed", "store/jobs/settle.py",
        "if call.status in (ToolCallStatus.CLOSED, ToolCallStatus.VOIDED):",
        "if call.status == ToolCallStatus.CLOSED:",
        ("contract/test_store_refusals.py",),
        "A call that left the path is settled.",
        unnoticed="The update below meets no call that has left the path, and tells the same.",
    ),
    Break(
        "settle-first", "store/jobs/settle.py",
        "AND status = ? AND ok IS NULL",
        "AND status = ?",
        ("contract/test_store_closing.py",),
        "The time limit overwrites a result that was there first.",
    ),
    Break(
        "settle-own-tool", "store/jobs/settle.py",
        "if call.handler != CLIENT and call.name not in request.tools.get(call.agent, ()):",
        "if False:",
        ("scenarios/test_settling.py::test_what_is_not_left_open_cannot_be_settled",),
        "A call of any tool is settled from outside.",
    ),
    Break(
        "settle-of-client-busy", "store/jobs/settle.py",
        "            if session.turn == call.turn:  #",
        "            if False:  #",
        ("scenarios/test_client_results.py::test_a_result_before_the_pause_is_told_to_wait",),
        "A result before the pause is ignored without a word.",
    ),
    Break(
        "settle-of-client-turn", "store/jobs/settle.py",
        "if paused is None or paused.turn != call.turn:",
        "if paused is None:",
        ("scenarios/test_client_results.py", "scenarios/test_settling.py"),
        "A result for another turn is given to the one that waits.",
    ),
    Break(
        "settle-late-ok", "store/jobs/settle.py",
        "tx.execute(_GIVE, 0, text,",
        "tx.execute(_GIVE, 1, text,",
        ("contract/test_store_closing.py",),
        "A call whose time is over has succeeded.",
    ),
    Break(
        "stop-other-turn", "store/jobs/stop.py",
        "if request.turn_id not in (None, turn_id):",
        "if False:",
        ("scenarios/test_stop.py::test_a_stop_by_the_id_of_an_old_turn_leaves_the_running_one_alone",),
        "A stop of an old turn hits the one that runs.",
    ),
    Break(
        "stop-other-branch", "store/jobs/stop.py",
        "if paused.place == session.head and request",
        "if request",
        ("scenarios/test_pauses.py::test_a_stop_hits_no_other_question",),
        "A stop closes the question of another branch.",
    ),
    Break(
        "stop-other-pause", "store/jobs/stop.py",
        "request.turn_id in (None, paused.turn_id):",
        "True:",
        ("scenarios/test_pauses.py::test_a_stop_hits_no_other_question",),
        "A stop of an old turn closes the question that waits.",
    ),
    Break(
        "stop-drain-count", "store/jobs/stop.py",
        "        session.queued -= 1\n",
        "",
        ("scenarios/test_queueing.py::test_stop_with_drain_empties_the_queue",),
        "An emptied queue still counts.",
    ),
    Break(
        "stop-flag", "store/jobs/stop.py",
        "        session.stop_turn = turn_id\n",
        "",
        ("scenarios/test_stop.py::test_another_process_stops_a_turn",),
        "A stop does not reach the process of the turn.",
    ),
    Break(
        "stop-wakes", "store/jobs/stop.py",
        "wake(tx, session, request.wake) if stopped.ended else None",
        "None",
        ("scenarios/test_waking_queues.py",),
        "What a stop has closed holds its queue up.",
    ),
    Break(
        "stop-alias", "store/jobs/stop.py",
        "return request if ref is None else replace(request, turn_id=ref.id)",
        "return request",
        ("scenarios/test_turn_ids.py::test_a_running_turn_is_stopped_by_the_name_of_the_answer_it_runs_for",),
        "A turn is not stopped by its other names.",
    ),
)  # fmt: skip
