"""A pending question, asked where the turn was started: only there where somebody can answer (B79)."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from .interrupts import Interrupts
from .output import note, prompt
from .plain import one_line

Answers = dict[str, str | list[str]]


class NoAnswer(Exception):
    """The terminal's end of input, or a signal: the question stays as it is."""


def can_ask() -> bool:
    """Whether a person sits there: both what asks and what answers is a terminal."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


async def ask(questions: list[dict[str, Any]], interrupts: Interrupts) -> Answers:
    """The answers by header. Raises `NoAnswer`."""
    return {question["header"]: await _one(question, interrupts) for question in questions}


async def _one(question: dict[str, Any], interrupts: Interrupts) -> str | list[str]:
    header = one_line(question["header"])
    note(f"{header}: {question['question']}")
    for number, option in enumerate(question["options"], 1):
        described = f": {option['description']}" if option.get("description") else ""
        note(one_line(f"  {number}. {option['label']}{described}"))
    if question["options"]:
        several = " (several: 1,2)" if question["multi_select"] else ""
        note(f"A number{several}, or your own words:")
    prompt(f"{header}> ")
    return chosen(question, await _line(interrupts))


def chosen(question: dict[str, Any], text: str) -> str | list[str]:
    """The labels that the numbers in an answer mean; any other text is an answer of its own."""
    text = text.strip()
    labels = [option["label"] for option in question["options"]]
    numbers = [part.strip() for part in text.split(",")] if question["multi_select"] else [text]
    if labels and all(part.isascii() and part.isdigit() and 1 <= int(part) <= len(labels) for part in numbers):
        picked = list(dict.fromkeys(labels[int(part) - 1] for part in numbers))
        return picked if question["multi_select"] else picked[0]
    return text


async def _line(interrupts: Interrupts) -> str:
    """One line of standard input, read without a thread that nobody could end."""
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    waiting = [loop.create_task(event.wait()) for event in (readable, interrupts.raised)]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.remove_reader(descriptor)
        for task in waiting:
            task.cancel()
    line = b"" if interrupts.raised.is_set() else os.read(descriptor, 65536)  # a terminal gives a line at a time
    if not line:
        raise NoAnswer
    return line.decode("utf-8", "replace").rstrip("\r\n")
