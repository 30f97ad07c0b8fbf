"""The tools every agent can have without a flow: their reserved names, and what the model reads about two of them."""

from __future__ import annotations

from typing import Any

from agentflow.conversation import questions
from agentflow.tools import todo_items

ASK_USER_DESCRIPTION = (
    "Ask the user and wait for the answer. Use it when you cannot go on well without a decision, a preference or a "
    "fact that only the user has; do not use it for what you can find out with another tool, nor to report progress. "
    "Put everything you need to know now into one call. Offer options when the likely answers are known; leave them "
    "out for an open question. The user may always answer in their own words."
)

WRITE_TODOS_DESCRIPTION = (
    "Replace your todo list for the current request. Use it for work of three or more steps: write the whole list "
    "each time, keep at most one item in_progress, and mark an item completed as soon as it is done."
)

ASK_USER_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["questions"],
    "properties": {
        "questions": {
            "type": "array",
            "minItems": 1,
            "maxItems": questions.MAX_QUESTIONS,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["header", "question"],
                "properties": {
                    "header": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": questions.MAX_HEADER,
                        "description": "A short label of the question, unique in this call, such as 'Plan'.",
                    },
                    "question": {"type": "string", "minLength": 1, "description": "The whole question, unique."},
                    "options": {
                        "type": "array",
                        "maxItems": questions.MAX_OPTIONS,
                        "description": f"None for an open question, or {questions.MIN_OPTIONS} to "
                        f"{questions.MAX_OPTIONS} answers to choose from.",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["label"],
                            "properties": {
                                "label": {
                                    "type": "string",
                                    "minLength": 1,
                                    "maxLength": questions.MAX_LABEL,
                                    "description": "The answer, unique in its question.",
                                },
                                "description": {"type": "string", "description": "What choosing it means."},
                            },
                        },
                    },
                    "multi_select": {
                        "type": "boolean",
                        "default": False,
                        "description": "Whether several options may be chosen.",
                    },
                },
            },
        }
    },
}

WRITE_TODOS_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["todos"],
    "properties": {
        "todos": {
            "type": "array",
            "maxItems": todo_items.MAX_TODOS,
            "description": "The whole list, in working order; it replaces the earlier one.",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["content", "status"],
                "properties": {
                    "content": {"type": "string", "minLength": 1, "maxLength": todo_items.MAX_CONTENT},
                    "status": {"type": "string", "enum": list(todo_items.STATUSES)},
                },
            },
        }
    },
}
