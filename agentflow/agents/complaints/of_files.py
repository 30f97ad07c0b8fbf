"""Complaints about a file by itself: its text, its keys and their values."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agentflow.agents.complaints.about import AGENT, START, About
from agentflow.config.document.codes import Code

OF_FILES: Mapping[Code, About] = MappingProxyType(
    {
        Code.UNREADABLE_FILE: About(
            "The file is there and cannot be read, as when its rights do not allow it.",
            "Give the user who runs agentflow the right to read it.",
        ),
        Code.TOO_LARGE: About(
            "The file is larger, holds more values or is nested deeper than any agent needs, or contains itself.",
            "Move what the model is to read into references or skills, and give the same thing once.",
            keys="x-notes: &notes [*notes]\n",
        ),
        Code.NOT_UTF8: About(
            "The file is text in another encoding.",
            "Save it as UTF-8.",
            files={AGENT: f"{START}description: caf\udce9\n"},
        ),
        Code.YAML_SYNTAX: About(
            "The file is no YAML from this place on.",
            "Most often quotes are missing around a text with `: ` or a `{` in it, or the indentation differs.",
            keys="description: Answers: quickly\n",
        ),
        Code.YAML_TAG: About(
            "A value starts with `!`, which YAML takes for a tag; no tag is supported.",
            "Put the text in quotes, or leave the tag out.",
            keys="description: !important Never guess.\n",
        ),
        Code.YAML_MERGE: About(
            "`<<` merges something that is no mapping.",
            "Merge a mapping, or a list of mappings.",
            keys="settings:\n  <<: 5\n",
        ),
        Code.DUPLICATE_KEY: About(
            "A key is given twice in one mapping; only one of them could hold.",
            "Remove one of the lines.",
            keys="prompt: Help.\nprompt: Help the customer.\n",
        ),
        Code.KEY_NOT_TEXT: About(
            "A key is a number, a list or a mapping.",
            "Put the key in quotes; a template `{{ }}` as a value too.",
            keys="inputs: {1: {type: string}}\n",
        ),
        Code.UNREADABLE_VALUE: About(
            "A value looks like a number and cannot be read as one.",
            "Put it in quotes if it is a text.",
            keys="settings: {max_iterations: !!int many}\n",
        ),
        Code.VARIABLE: About(
            "`${NAME}` stands for an environment variable that is not set, or starts no reference at all.",
            "Set the variable, or give a default with `${NAME:-default}`; write `$${` for a plain `${`.",
            keys="description: ${TEAM_OF_NOBODY}\n",
        ),
        Code.NOT_A_MAPPING: About(
            "The file holds a list, a text or nothing where its keys should be.",
            "Write keys, `name: value`, one a line.",
            files={AGENT: "- name: example\n"},
        ),
        Code.UNKNOWN_KEY: About(
            "There is no such key at this place; nothing would be done about it.",
            "Take the word the complaint gives; keys of your own start with `x-`. All keys: "
            "[the reference](../agent_yaml/REFERENCE.md).",
            keys="settings: {lean_histroy: true}\n",
        ),
        Code.MISSING_KEY: About(
            "A key that is required is not given.", "Add it.", files={AGENT: "model: scripted/replies.yaml\n"}
        ),
        Code.WRONG_TYPE: About(
            "A value has another type than its key takes; nothing is converted.",
            "Write what the complaint says; a number stands without quotes, a text that looks like one with them.",
            keys='settings: {max_iterations: "20"}\n',
        ),
        Code.WRONG_FORM: About(
            "A text is empty, or not of the form its key takes.",
            "Write it in the form the complaint shows.",
            keys="tools: [{flow: calculate, name: my tool}]\n",
        ),
        Code.OUT_OF_RANGE: About(
            "A number is smaller or larger than its key takes.",
            "Stay within the bounds; of a limit 0 means none.",
            keys="settings: {max_iterations: -1}\n",
        ),
        Code.NOT_A_CHOICE: About(
            "A value is none of the words its key takes.",
            "Take one of those listed.",
            keys="settings: {on_limit: continue}\n",
        ),
        Code.GIVEN_TWICE: About(
            "The same thing is given in two ways.",
            "Keep one of them.",
            keys="interfaces: {main: {model: scripted/replies.yaml}}\n",
        ),
        Code.FOLDER_NAME: About(
            "The agent's name is another one than its folder's, by which it is found.",
            "Rename one of them.",
            files={AGENT: "name: guide\nmodel: scripted/replies.yaml\n"},
        ),
        Code.TEMPLATE: About(
            "A template cannot be read, or names a variable or an input that there is not.",
            "There are `inputs`, `vars`, `session` and `today`; an input is declared under `inputs`.",
            keys='prompt: "Help {{ inputs.customer }}."\n',
        ),
        Code.INPUT_VALUE: About(
            "The default or an allowed value of an input does not have the input's type, or can never be used.",
            "Change the type or the value.",
            keys="inputs: {days: {type: integer, default: soon}}\n",
        ),
    }
)
