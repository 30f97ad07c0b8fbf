"""The breaks, a table for each part of the core."""

from __future__ import annotations

from tests.breaks.tables import closing, erasing, evaluation, pauses, process, writes

BREAKS = tuple(entry for table in (closing, erasing, pauses, writes, process, evaluation) for entry in table.BREAKS)
