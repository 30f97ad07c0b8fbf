"""C5: a remembered history serves the one place, reading and reader it was built for."""

from __future__ import annotations

import pytest

from agentflow.conversation.history import History
from agentflow.conversation.tree import Place
from agentflow.live.history_cache import HistoryCache, Remembered

HERE = Place(1, 2)


@pytest.mark.parametrize(
    ("key", "head", "lean", "reader", "found"),
    [
        (7, HERE, True, "m", True),
        (8, HERE, True, "m", False),
        (7, Place(1, 3), True, "m", False),
        (7, HERE, False, "m", False),
        (7, HERE, True, "another", False),
    ],
)
def test_only_the_very_same_reading_is_found(key: int, head: Place, lean: bool, reader: str, found: bool) -> None:
    cache = HistoryCache()
    cache.put("s", Remembered(7, HERE, True, History("m"), frozenset()))
    assert (cache.take("s", key, head, lean=lean, reader=reader) is not None) is found
    assert cache.take("s", 7, HERE, lean=True, reader="m") is None, "it was taken out"
