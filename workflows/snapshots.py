"""Loading an entity's data at the start of a step, so that the conversation can run again on it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from agentflow import FlowContext, FlowName, flow


@flow(name="GetWithSnap", hook_points=["step_start"])
def get_with_snap(
    entity: str,
    key: str | Annotated[int, Field(strict=True)],
    loader: FlowName,
    as_: Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$")],
    ctx: FlowContext,
) -> dict[str, Any]:
    """Load the data of an entity, such as customer 42, by a flow; a snapshot is kept where the session has them.

    It is a hook: `{flow: GetWithSnap, with: {entity: customer, key: "42", loader: load_customer, as: customer}}`.

    Args:
        entity: What kind of thing it is.
        key: Which one; the loader is called with it.
        loader: The flow that loads it.
        as_: The variable of the prompt that has the data, `vars.NAME`.
    """
    return {"vars": {as_: ctx.get_with_snap(entity, key, loader)}}
