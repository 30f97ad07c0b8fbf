"""The commands of a chat: a table of names, each with its help and its function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import click

from ..reading.waterfall import waterfall
from ..sessions.export import FORMATS, format_of, write_export
from ..terminal.plain import one_line, shortened
from ..turns.attached import part_of
from .conversation import Conversation
from .views import branch_lines, branches, context_lines, queue_lines, session_lines, user_messages

_SHOWN_MESSAGES = 2  # of a branch that is gone to


class Refused(Exception):
    """A command that cannot be done as it was typed: the sentence says why."""


@dataclass(frozen=True)
class Command:
    """`argument` is how its words are shown in the help; `run(conversation, words)` may raise `Refused`."""

    argument: str
    help: str
    run: Callable[[Conversation, str], Awaitable[None]]


async def _edit(talk: Conversation, words: str) -> None:
    messages = await _path(talk)
    asked = user_messages(messages)
    if not asked:
        raise Refused("nothing was said yet")
    number = _number(words, len(asked), len(asked), "your messages")
    at = asked[number - 1]
    content = messages[at]["content"]
    if not isinstance(content, str):
        raise Refused(f"message {number} has parts that cannot be typed")
    talk.edits = messages[at - 1 : at]
    talk.teller.screen.draft(content)
    talk.teller.note(f"message {number} of {len(asked)}, to be changed: Enter sends it on a branch, /cancel leaves it")


async def _cancel(talk: Conversation, _: str) -> None:
    talk.teller.note("no message is being changed" if talk.edits is None else "the message stays as it was")
    talk.edits = None


async def _retry(talk: Conversation, _: str) -> None:
    messages = await _path(talk)
    asked = user_messages(messages)
    if not asked:
        raise Refused("nothing was said yet")
    await talk.send({"type": "client.messages", "messages": [messages[asked[-1]]]})


async def _branch(talk: Conversation, words: str) -> None:
    found = branches(await talk.runtime.tree(_begun(talk)))
    if not words:
        talk.teller.lines(branch_lines(found))
        return
    target = found[_number(words, 0, len(found), "the branches") - 1]["id"] if words.isdecimal() else words
    await talk.runtime.checkout(talk.session, target)
    talk.teller.note("the conversation goes on after this:")
    await talk.recall(_SHOWN_MESSAGES)
    await talk.look()


async def _tree(talk: Conversation, _: str) -> None:
    from agentflow import drawn_tree

    tree = await talk.runtime.tree(_begun(talk))
    columns = talk.teller.screen.columns - 1
    talk.teller.lines(shortened(one_line(line), columns) for line in drawn_tree(tree))


async def _stop(talk: Conversation, _: str) -> None:
    if not talk.is_busy:
        raise Refused("nothing runs")
    talk.teller.note("stopping the turn")
    talk.beside(talk.stop())


async def _now(talk: Conversation, words: str) -> None:
    if not words:
        raise Refused("/now TEXT stops the turn that runs and says TEXT")
    await talk.say(words, queue=False, interrupt=True)


async def _queue(talk: Conversation, words: str) -> None:
    await _looked(talk)
    waiting = talk.status["queue"] if talk.status is not None else []
    word, _, rest = words.partition(" ")
    if word == "run":
        talk.beside(talk.runtime.run_queue(talk.session))
    elif word == "drop":
        number = _number(rest, 0, len(waiting), "what waits")
        await talk.runtime.stop(talk.session, waiting[number - 1]["turn_id"])
        await talk.look()
        talk.teller.note("taken back")
    elif words:
        raise Refused("it is /queue, /queue run or /queue drop N")
    else:
        talk.teller.lines(queue_lines(talk.status or {"queue": [], "status": "idle", "pending": False}))


async def _context(talk: Conversation, _: str) -> None:
    talk.teller.lines(context_lines(await talk.settings()))


async def _model(talk: Conversation, words: str) -> None:
    if words:
        talk.use_model(words)
    found = await talk.settings()
    talk.teller.note(f"{found['model']} answers; /model NAME has another one answer, in this chat only", None)


async def _trace(talk: Conversation, words: str) -> None:
    turn = int(words) if words.isdecimal() else words or None
    found = await talk.runtime.trace(_begun(talk), turn)
    talk.teller.lines(one_line(line) for line in waterfall(found))


async def _save(talk: Conversation, words: str) -> None:
    if not words:
        raise Refused(f"/save FILE, which ends in {', '.join(f'.{each}' for each in FORMATS)}")
    path = _new_file(words)
    await write_export(talk.runtime, _begun(talk), format_of(path) or "md", path)
    talk.teller.note(f"wrote {path}")


async def _attach(talk: Conversation, words: str) -> None:
    if words:
        try:
            talk.attached.append(part_of(_file(words)))
        except click.UsageError as error:
            raise Refused(error.message.removeprefix("--attach ")) from None
    elif talk.attached:
        talk.attached = []
        talk.teller.note("no file goes with the next message")
        return
    else:
        raise Refused("/attach FILE; a picture, sound, PDF or text")
    talk.teller.note(
        f"with the next message: {', '.join(each['name'] for each in talk.attached)}; /attach takes them back"
    )


async def _sessions(talk: Conversation, words: str) -> None:
    found = await talk.list_sessions()
    if not words:
        talk.teller.lines(session_lines(found, talk.session))
        return
    named = [identifier for identifier, name in talk.names if words in (identifier, name)]
    if len(named) > 1:
        raise Refused(f"{len(named)} sessions are called {words}: name one by its id")
    if not named:
        raise Refused(f"there is no session {words} here; /sessions lists them")
    await talk.enter(named[0])


async def _name(talk: Conversation, words: str) -> None:
    given = await talk.runtime.records.name(_begun(talk), words or None)
    if given["name"] is None:
        talk.teller.note("it has no name now")


async def _new(talk: Conversation, _: str) -> None:
    await talk.enter(str(uuid4()))


async def _help(talk: Conversation, _: str) -> None:
    titles = {name: f"/{name} {command.argument}".rstrip() for name, command in COMMANDS.items()}
    width = max(map(len, titles.values()))
    talk.teller.lines(f"{titles[name]:<{width}}  {COMMANDS[name].help}" for name in COMMANDS)
    talk.teller.lines(KEYS)


async def _quit(talk: Conversation, _: str) -> None:
    talk.left = 0


COMMANDS: dict[str, Command] = {
    "edit": Command("[N]", "change your N-th message, or the last one, on a branch", _edit),
    "cancel": Command("", "leave the message that is being changed as it was", _cancel),
    "retry": Command("", "have the last message answered again, on a branch", _retry),
    "branch": Command("[N|ID]", "the branches; go to one, or to any message of /tree", _branch),
    "tree": Command("", "every message, the path marked with |, its end with *", _tree),
    "stop": Command("", "stop the turn that runs; what was said is kept", _stop),
    "now": Command("TEXT", "stop the turn that runs, and say TEXT", _now),
    "queue": Command("[run|drop N]", "the messages that wait", _queue),
    "attach": Command("[FILE]", "a picture, sound, PDF or text goes with your next message", _attach),
    "context": Command("", "how full the model's window is, and what would go", _context),
    "trace": Command("[N]", "what turn N did, or the last one", _trace),
    "model": Command("[NAME]", "the model that answers; have another one answer here", _model),
    "save": Command("FILE", "write the session as .md, .json, .jsonl or .html", _save),
    "sessions": Command("[ID|NAME]", "the sessions here; go to one", _sessions),
    "name": Command("[NAME]", "give this session a name, or take it away", _name),
    "new": Command("", "begin a new session", _new),
    "help": Command("", "this list", _help),
    "quit": Command("", "leave; the session stays, as Ctrl-D does", _quit),
}

KEYS = (
    "Enter sends. Alt-Enter, Ctrl-J, or \\ before Enter begin a new line. Tab completes, Up recalls.",
    "Ctrl-C stops the turn, once more leaves. A pasted text is never a command; // sends a text that begins with /.",
)


def _number(words: str, default: int, most: int, of: str) -> int:
    if not words and default:
        return default
    number = int(words) if words.isascii() and words.isdecimal() and len(words) < 10 else 0
    if not 1 <= number <= most:
        raise Refused(f"it is a number from 1 to {most}, of {of}" if most else f"there are none of {of}")
    return number


def _file(words: str) -> Path:
    return Path(words).expanduser()


def _new_file(words: str) -> Path:
    path = _file(words)
    if path.exists() or path.is_symlink():
        raise Refused(f"{path} is there already: name another file")
    return path


def _begun(talk: Conversation) -> str:
    """The session's id, once there is something in it."""
    if talk.status is None:
        raise Refused("nothing was said yet")
    return talk.session


async def _path(talk: Conversation) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = (await talk.runtime.session(_begun(talk)))["messages"]
    return messages


async def _looked(talk: Conversation) -> None:
    if talk.status is not None:
        await talk.look()
