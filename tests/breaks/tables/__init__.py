"""The breaks, a table for each part of the core."""

from __future__ import annotations

from tests.breaks.tables import (
    authoring,
    bounds,
    closing,
    damage,
    erasing,
    evaluation,
    files,
    models,
    pauses,
    process,
    records,
    writes,
)

_TABLES = (authoring, bounds, closing, damage, erasing, evaluation, files, models, pauses, process, records, writes)
BREAKS = tuple(entry for table in _TABLES for entry in table.BREAKS)
