"""A6: a docstring becomes the description of a tool and of its parameters."""

import pytest

from agentflow.tools.flows.docstrings import first_paragraph, parameter_texts

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


@pytest.mark.parametrize("docstring", [None, "", "Just one line.", "Args:", "Parameters\n----------\nx : int"])
def test_a_docstring_without_parameter_texts_gives_none(docstring: str | None) -> None:
    assert parameter_texts(docstring) == {}


@pytest.mark.parametrize(
    ("docstring", "description"),
    [
        (None, ""),
        ("One line.", "One line."),
        ("Two\n    lines.\n\n    And details.", "Two lines."),
        ("Text.\n    :param x: y", "Text."),
        ("Text.\n    Args:\n        x: y", "Text."),
    ],
)
def test_the_description_is_the_first_paragraph(docstring: str | None, description: str) -> None:
    assert first_paragraph(docstring) == description
