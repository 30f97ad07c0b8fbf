"""The stable code of every complaint about a file: what programs and pages call it, whatever its sentence says (A2).

`agentflow/config/complaints/` has the meaning of each and an example that gives it.
"""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """A kind of complaint."""

    # the file as a text
    UNREADABLE_FILE = "unreadable-file"
    TOO_LARGE = "too-large"
    NOT_UTF8 = "not-utf8"
    YAML_SYNTAX = "yaml-syntax"
    YAML_TAG = "yaml-tag"
    YAML_MERGE = "yaml-merge"
    DUPLICATE_KEY = "duplicate-key"
    KEY_NOT_TEXT = "key-not-text"
    UNREADABLE_VALUE = "unreadable-value"
    VARIABLE = "variable"
    # keys and their values
    NOT_A_MAPPING = "not-a-mapping"
    UNKNOWN_KEY = "unknown-key"
    MISSING_KEY = "missing-key"
    WRONG_TYPE = "wrong-type"
    WRONG_FORM = "wrong-form"
    OUT_OF_RANGE = "out-of-range"
    NOT_A_CHOICE = "not-a-choice"
    GIVEN_TWICE = "given-twice"
    FOLDER_NAME = "folder-name"
    TEMPLATE = "template"
    INPUT_VALUE = "input-value"
    # interfaces and models
    INTERFACE = "interface"
    EXTRA_KEY = "extra-key"
    UNKNOWN_PROVIDER = "unknown-provider"
    SCRIPT = "script"
    NO_API_KEY = "no-api-key"
    UNKNOWN_PRICE = "unknown-price"
    # what an agent names
    FLOW = "flow"
    FLOW_SIGNATURE = "flow-signature"
    BUILT_IN_NAME = "built-in-name"
    NAMED_TWICE = "named-twice"
    TOOL_HANDLER = "tool-handler"
    TOOL_PARAMETERS = "tool-parameters"
    HOOK_SIGNATURE = "hook-signature"
    HOOK_ARGUMENTS = "hook-arguments"
    WORKER = "worker"
    OPEN_WORKER = "open-worker"
    MATERIAL = "material"
    FRONT_MATTER = "front-matter"
    SUB_AGENT = "sub-agent"
    SUB_AGENT_INVALID = "sub-agent-invalid"
    SUB_AGENT_CIRCLE = "sub-agent-circle"
    SUB_AGENT_SETTING = "sub-agent-setting"
    SUB_AGENT_INPUT = "sub-agent-input"
    # what makes no sense together
    WINDOW = "window"
    NEVER_APPLIES = "never-applies"
    NEVER_BINDS = "never-binds"
    NO_EFFECT = "no-effect"
    NOT_KEPT = "not-kept"
    HALF_COMPACTION = "half-compaction"
