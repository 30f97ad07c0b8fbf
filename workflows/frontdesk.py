"""The shipped agent `frontdesk`: a hook that loads its customer, and a tool that looks up an invoice.

The data stands here so that the example runs anywhere; a real desk would ask its database in the same two places.
"""

from __future__ import annotations

import re
from typing import Any

from agentflow import FlowContext

_CUSTOMERS: dict[str, dict[str, Any]] = {
    "Ada": {"name": "Ada Lovelace", "since": 2019, "invoices": {1001: "paid on 3 May", 1002: "due on 1 July"}},
    "Grace": {"name": "Grace Hopper", "since": 2022, "invoices": {1003: "paid on 12 June"}},
}


def load_desk_customer(ctx: FlowContext) -> dict[str, Any]:
    """Load who is speaking, named by the input `customer`, as the prompt's variable `customer`."""
    customer = _CUSTOMERS.get(ctx.inputs.get("customer", ""))
    if customer is None:
        return {"block": f"We have no such customer; there are {' and '.join(_CUSTOMERS)}."}
    return {"vars": {"customer": customer}}


def desk_invoice(number: str, ctx: FlowContext) -> str:
    """Look up an invoice of the customer who is speaking.

    Args:
        number: The number on the invoice, such as 1001.
    """
    invoices = ctx.vars.get("customer", {}).get("invoices", {})
    digits = re.search(r"[0-9]+", number)
    number = digits[0] if digits else number
    said = {str(each): state for each, state in invoices.items()}.get(number)
    if said is None:
        return f"There is no invoice {number} of this customer; there are {', '.join(map(str, invoices)) or 'none'}."
    return f"Invoice {number} is {said}."
