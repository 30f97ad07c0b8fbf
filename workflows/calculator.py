"""Arithmetic for models, which are bad at it."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

Number = int | float

_TOO_DEEP = "the expression is nested too deeply"

MAX_EXPRESSION = 500  # characters
MAX_BITS = 4_000  # of a whole number, about 1200 digits
MAX_DEPTH = 60  # of operations inside one another
MAX_DIGITS = 400  # that `round` may be asked for, on either side of the point


def _rounded(number: Number, digits: Number = 0) -> Number:
    """`round`, which would compute ten to the power of any number of digits (Z3)."""
    if not isinstance(digits, int) or abs(digits) > MAX_DIGITS:
        raise ValueError(f"round takes a whole number of digits, at most {MAX_DIGITS}")
    return round(number, digits) if digits else round(number)


_CONSTANTS: dict[str, Number] = {"pi": math.pi, "e": math.e}
_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "abs": abs,
    "ceil": math.ceil,
    "cos": math.cos,
    "exp": math.exp,
    "floor": math.floor,
    "ln": math.log,
    "log": math.log,
    "log10": math.log10,
    "max": max,
    "min": min,
    "round": _rounded,
    "sin": math.sin,
    "sqrt": math.sqrt,
    "tan": math.tan,
}


def calculate(expression: str) -> int | float:
    """Calculate an arithmetic expression, such as `(3 + 4) * 2 ** 10 / sqrt(2)`.

    Args:
        expression: Numbers, + - * / // % ** and parentheses, pi, e, and abs, ceil, cos, exp, floor, ln, log, log10,
            max, min, round, sin, sqrt, tan.
    """
    if len(expression) > MAX_EXPRESSION:
        raise ValueError(f"the expression has {len(expression)} characters, at most {MAX_EXPRESSION} are allowed")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"not an arithmetic expression: {error.msg} at character {error.offset}") from None
    except (RecursionError, MemoryError):  # the parser's own ends of a deep text
        raise ValueError(_TOO_DEEP) from None
    value = _value(tree.body, MAX_DEPTH)
    return float(f"{value:.15g}") if isinstance(value, float) else value  # 0.1 + 0.2 is 0.3 to everybody but a float


def _value(node: ast.expr, deeper: int) -> Number:
    """The value of a part that may have `deeper` levels of parts below it."""
    if not deeper:
        raise ValueError(_TOO_DEEP)
    deeper -= 1
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _bounded(number)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand, deeper))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(_BINARY[type(op)](_value(left, deeper), _value(right, deeper)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*(_value(each, deeper) for each in arguments)))
    raise ValueError(f"not allowed in an expression: {type(node).__name__} at character {node.col_offset + 1}")


def _bounded(value: Any) -> Number:
    if not isinstance(value, int | float):  # a root of a negative number
        raise ValueError("the result is not a real number")
    if value.bit_length() > MAX_BITS if isinstance(value, int) else math.isinf(value):
        raise ValueError("a number is too large")
    return value


def _power(base: Number, exponent: Number) -> Any:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and abs(exponent) * max(abs(int(base)).bit_length() - 1, 0) > MAX_BITS:
        raise ValueError("a number is too large")
    return base**exponent


_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_BINARY: dict[type[ast.operator], Callable[[Number, Number], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
