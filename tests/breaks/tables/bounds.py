"""Work that text from outside causes: bounded by its form, and beside the loop where it is heavy (Z3, Z6)."""

from __future__ import annotations

from tests.breaks.entry import Break

_INPUTS = "scenarios/test_bounded_inputs.py"

BREAKS = (
    Break(
        "bounds-error-whole", "secrets/redacting.py",
        "    return redact(text[:MOST_TOLD])[:-_LONGEST_SECRET] + \"…\"\n",
        "    return redact(text)\n",
        ("unit/secrets/test_redacting.py::test_of_a_long_text_the_beginning_is_told_and_no_part_of_a_secret",),
        "An error of millions of characters is searched for secrets whole.",
    ),
    Break(
        "bounds-half-secret", "secrets/redacting.py",
        "[:-_LONGEST_SECRET] + \"…\"\n",
        " + \"…\"\n",
        ("unit/secrets/test_redacting.py::test_of_a_long_text_the_beginning_is_told_and_no_part_of_a_secret",),
        "Half a secret is told where a long text is cut.",
    ),
    Break(
        "bounds-settle", "tools/results.py",
        "        weigh(value)\n",
        "",
        ("unit/tools/test_results.py::test_a_result_from_outside_that_is_too_much_or_no_json_is_refused",),
        "What settles a call has no limit.",
    ),
    Break(
        "bounds-many-calls", "turn/calls/model_stream.py",
        "stream.assembler.calls > MAX_CALLS",
        "stream.assembler.calls > MAX_CALLS * 9",
        (f"{_INPUTS}::test_a_reply_of_more_than_a_thousand_calls_fails_the_call_and_none_is_run",),
        "A reply makes as many rows as it likes.",
    ),
    Break(
        "bounds-pieces", "models/assembly.py",
        "self._ending.is_there(self.arguments) and isinstance(self.value(), dict)",
        "isinstance(value_of(\"\".join(self.arguments)), dict)",
        ("unit/models/test_assembly.py::test_pieces_are_read_once_however_many_there_are",),
        "All of the arguments are read again with every piece.",
    ),
    Break(
        "bounds-hook", "turn/calls/hooks.py",
        "        weigh(given)\n",
        "",
        (f"{_INPUTS}::test_what_a_hook_returns_is_bounded_and_does_not_hold_the_loop",),
        "What a hook returns has no limit.",
    ),
    Break(
        "bounds-filters", "config/keys/template_bounds.py",
        "        self.spend((before - self.left) * (times - 1))\n",
        "",
        ("unit/config/keys/test_template_bounds.py", f"{_INPUTS}::test_the_costliest_template_does_not_hold_the_loop"),
        "A slow filter counts like a copy.",
    ),
    Break(
        "bounds-queue", "store/session/waiting.py",
        "count >= MAX_QUEUED or ",
        "",
        ("scenarios/test_queueing.py::test_so_many_inputs_wait_and_no_more",),
        "A queue has no end.",
    ),
    Break(
        "forged-heading", "context/summary.py",
        "    re.IGNORECASE,\n)\n_LIKE_TAGS",
        ")\n_LIKE_TAGS",
        ("unit/context/test_summary.py::test_what_looks_like_structure_is_escaped_where_it_is_quoted",),
        "A heading in capitals passes for one of ours.",
    ),
    Break(
        "forged-note", "models/wire/litellm_wire.py",
        "            message[\"content\"] = _unlike_ours(message[\"content\"])\n",
        "            pass\n",
        ("unit/models/wire/test_litellm_wire.py::test_what_only_reads_like_a_note_of_ours_is_told_apart",),
        "A user speaks as the application.",
    ),
    Break(
        "forged-stop", "reading/trace.py",
        "last is not None and last.role != \"user\" and",
        "last is not None and",
        ("scenarios/test_trace.py::test_a_text_that_reads_like_the_mark_of_a_stop_is_none",),
        "A user's text passes for the mark of a stop.",
    ),
    Break(
        "worker-path", "turn/worker/asking.py",
        "\"/\" in call.model.removeprefix(SCRIPTED) and ",
        "not call.model and ",
        ("scenarios/test_names.py::test_what_a_worker_names_is_no_path",),
        "A worker names a file by its path.",
    ),
)  # fmt: skip
