"""A6: a docstring becomes the description of a tool and of its parameters."""

import pytest

from agentflow.tools.flows.docstrings import description, parameter_texts

GOOGLE = """Book a table.

    Args:
        place (str): Where to eat,
            by name.
        guests: How many.
        odd line without a colon

    Returns:
        number: Of the table.
    """
NUMPY = """Book a table.

    Parameters
    ----------
    place : str
        Where to eat,
        by name.
    guests
        How many.

    Returns
    -------
    number
        Of the table.
    """
SPHINX = """Book a table.

    :param str place: Where to eat,
        by name.
    :param guests: How many.
    :returns: the number
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_the_usual_styles_describe_parameters(docstring: str) -> None:
    assert parameter_texts(docstring) == {"place": "Where to eat, by name.", "guests": "How many."}


def test_a_parameter_may_have_paragraphs_and_share_a_text() -> None:
    """D64"""
    google = "Do.\n\n    Args:\n        x: One.\n\n            Two: three.\n        y: Four.\n"
    assert parameter_texts(google) == {"x": "One. Two: three.", "y": "Four."}
    numpy = "Do.\n\n    Parameters\n    ----------\n    x, y : int\n        Both.\n"
    assert parameter_texts(numpy) == {"x": "Both.", "y": "Both."}


@pytest.mark.parametrize(
    "docstring",
    [
        "Take.\n\n    :parameter x: A value.",
        "Take.\n\n    :arg int x: A value.",
        "Take.\n\n    :keyword x: A value.",
        "Take.\n\n    @param x: A\n        value.",
        "Take.\n\n    Args:\n        x (dict[str, (int, str)]): A value.",
        "Take.\n\n    Args:\n        x (Callable[[int], str], optional): A value.",
    ],
)
def test_the_less_usual_ways_to_write_a_parameter_are_read_too(docstring: str) -> None:
    assert parameter_texts(docstring) == {"x": "A value."}


@pytest.mark.parametrize("docstring", [None, "", "Just one line.", "Args:", "Parameters\n----------\nx : int"])
def test_a_docstring_without_parameter_texts_gives_none(docstring: str | None) -> None:
    assert parameter_texts(docstring) == {}


@pytest.mark.parametrize(
    ("docstring", "told"),
    [
        (None, ""),
        ("One line.", "One line."),
        ("Two\n    lines.\n\n    And details.", "Two lines.\n\nAnd details."),
        ("Book.\n\n    Only after the user\n    agreed.\n\n    Never twice.\n\n    Args:\n        x: y",
         "Book.\n\nOnly after the user agreed.\n\nNever twice."),
        ("Steps:\n\n    - one\n    - two\n\n    Returns:\n        int: n", "Steps:\n\n- one\n- two"),
        ("Text.\n\n    Parameters\n    ----------\n    x : int\n        y", "Text."),
        ("Text.\n\n    Example:\n        do(1)\n\n    Raises:\n        E: e", "Text.\n\nExample:\n    do(1)"),
        ("Text.\n    :param x: y", "Text."),
        ("Text.\n    Args:\n        x: y", "Text."),
        ("Text.\n\n    @param x: y\n    @return: z", "Text."),
    ],
)  # fmt: skip
def test_the_description_is_all_of_it_up_to_the_parameters(docstring: str | None, told: str) -> None:
    """D64"""
    assert description(docstring) == told
