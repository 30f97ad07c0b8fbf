"""Files in messages and results: kept, known, given and taken away (W4)."""

from __future__ import annotations

from tests.breaks.entry import Break

_PARTS = "scenarios/test_content_parts.py"
_FILES = "unit/media/test_files.py"

BREAKS = (
    Break(
        "files-of-results", "turn/run/staging.py",
        "        self.add(*file_rows(message))\n",
        "",
        (f"{_PARTS}::test_a_flow_gives_files_along_and_the_model_sees_them_after_the_results",),
        "A result names a file whose bytes are nowhere.",
    ),
    Break(
        "files-of-others", "store/reads/files.py",
        "if hash_ not in brought and tx.one(_IS_THERE, key, hash_) is None:",
        "if False:",
        (f"{_PARTS}::test_a_message_read_back_names_its_file_by_hash_and_no_other_can",),
        "A message names a file that its session does not have.",
    ),
    Break(
        "files-refused", "turn/calls/sent_files.py",
        "                self._refused |= named\n",
        "",
        (f"{_PARTS}::test_a_file_that_the_provider_refuses_is_left_out_and_the_turn_goes_on",),
        "A file that the provider refuses is sent again for ever.",
    ),
    Break(
        "files-refused-before", "store/reads/files.py",
        "    return KeptFiles(bodies, frozenset(refused))",
        "    return KeptFiles(bodies, frozenset())",
        (f"{_PARTS}::test_a_file_that_the_provider_refuses_is_left_out_and_the_turn_goes_on",),
        "Every later turn asks a provider again for what it refused.",
    ),
    Break(
        "files-named-on", "context/summary.py",
        "    before = [line for line in earlier.splitlines() if line.endswith(_LEFT_OUT)]",
        "    before: list[str] = []",
        (f"{_PARTS}::test_a_summary_of_a_summary_names_on_what_the_first_left_out",),
        "A summary of a summary forgets the pictures of the first.",
    ),
    Break(
        "files-queued", "media/files.py",
        '{**part, "data": bodies[part["hash"]]} if part.get("hash") in bodies else part',
        "part",
        (f"{_FILES}::test_an_input_with_files_is_read_back_equal_with_its_bytes",),
        "A queued message loses its file.",
    ),
)  # fmt: skip
