"""Notes that an agent keeps across the turns of its session; nobody else's session sees them."""

from __future__ import annotations

from typing import Any

from agentflow import FlowContext, flow

PAGE = 10  # notes of a report
MAX_RECENT = 50


@flow(name="SaveAgentMemory")
async def save_agent_memory(topic: str, content: str, ctx: FlowContext) -> str:
    """Keep a note for later turns of this conversation.

    Args:
        topic: What it is about, in a few words, at most 200 characters; the same words for the same topic.
        content: What to remember, at most 4,000 characters. A conversation keeps 1,000 notes.
    """
    note = await ctx.memory.save(topic, content)
    return f"Saved under '{note.topic}'."


@flow(name="LoadAgentMemoryReport")
async def load_agent_memory_report(ctx: FlowContext, topic: str | None = None, page: int = 1) -> dict[str, Any]:
    """Read the notes of this conversation, the newest first, ten on a page, and how many each topic has.

    Args:
        topic: Only the notes of this topic.
        page: 1 has the newest.
    """
    if page < 1:
        raise ValueError("page counts from 1")
    topics = await ctx.memory.topics()
    total = topics.get(topic, 0) if topic is not None else sum(topics.values())
    notes = await ctx.memory.recent(PAGE, skip=(page - 1) * PAGE, topic=topic)
    return {
        "topics": topics if topic is None else {topic: total},
        "page": page,
        "pages": -(-total // PAGE),
        "notes": [{"topic": note.topic, "content": note.content} for note in notes],
    }


@flow(name="GetRecentMemories")
async def get_recent_memories(ctx: FlowContext, limit: int = 10) -> list[dict[str, str]]:
    """Read the newest notes of this conversation.

    Args:
        limit: How many, from 1 to 50.
    """
    if not 1 <= limit <= MAX_RECENT:
        raise ValueError(f"limit is from 1 to {MAX_RECENT}")
    return [{"topic": note.topic, "content": note.content} for note in await ctx.memory.recent(limit)]
