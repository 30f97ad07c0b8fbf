"""One of several processes that write to one database at once: `python -m tests.contract.crowd URL NAME COUNT`.

It waits for a line on standard input, so that all begin together; it prints the number of sessions it wrote.
"""

from __future__ import annotations

import asyncio
import sys

from tests.contract.book import Book, ended, user


async def session(book: Book, name: str) -> None:
    """A whole first turn."""
    turn = await book.begin(name)
    await book.say(turn, user("first message"))
    await book.end(turn, ended(turn))


def main(url: str, name: str, count: str) -> None:
    book = Book(url)
    names = [f"{name}-{number}" for number in range(int(count))]

    async def all_at_once() -> int:
        await asyncio.gather(*(session(book, name) for name in names))
        return len(names)

    sys.stdin.readline()
    print(book.run(all_at_once))  # noqa: T201  # its result, read by the test


if __name__ == "__main__":
    main(*sys.argv[1:])
