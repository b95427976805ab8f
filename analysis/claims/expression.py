"""Expressions of claims over named quantities: Python's arithmetic and comparisons, and six functions.

    highest(kafka / pulsar)                100 * (1 - kafka / pulsar)                kafka < nats and nats < redpanda

A name stands for one number or for a series of numbers by key. An expression over series is evaluated once for each of their keys;
a comparison of series is true if it is true at every key. What only one of two series has is unknown in the other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from analysis.claims import quantity as q
from analysis.claims.quantity import Range, Truth

Key = tuple[str, ...]
Quantity = Range | Mapping[Key, Range]
Values = Mapping[str, Quantity]
_OPERATORS: Mapping[type[ast.operator], Callable[[Range, Range], Range]] = {
    ast.Add: q.add,
    ast.Sub: q.subtract,
    ast.Mult: q.multiply,
    ast.Div: q.divide,
    ast.Pow: q.power,
}
_Over = Mapping[str, Callable[[Sequence[Range]], Range]]
_OF_A_SERIES: _Over = {"lowest": q.lowest, "highest": q.highest, "total": q.total}
_OF_ITS_ARGUMENTS: _Over = {
    "smaller": q.lowest,
    "larger": q.highest,
    "log10": lambda found: q.decimal_logarithm(*found),
}
FUNCTIONS = (*_OF_A_SERIES, *_OF_ITS_ARGUMENTS)
_OF_ONE = (*_OF_A_SERIES, "log10")


class _AllUnknown(dict[str, Quantity]):
    """A value for every name, of which nothing is known; it keeps the names that were looked up."""

    def __missing__(self, name: str) -> Quantity:
        self[name] = q.UNKNOWN
        return q.UNKNOWN


def names_in(text: str, *, condition: bool = False) -> tuple[str, ...]:
    """The names in an expression for a number, or for a condition. Raises ValueError, saying what isn't understood."""
    asked = _AllUnknown()
    if condition:
        truth_of(text, asked)
    else:
        figure_of(text, asked)
    return tuple(asked)


def figure_of(text: str, values: Values) -> Range:
    """The number that an expression stands for. Raises ValueError if it isn't one."""
    node = _parsed(text)
    if list(_series(node, values)):
        raise ValueError(f"{text!r} is not one number: take the lowest, the highest or the total of a series")
    return _evaluated(node, values, ())


def truth_of(text: str, values: Values) -> Truth:
    """Whether a condition holds. Raises ValueError if it isn't one."""
    return _decided(_parsed(text), values)


@cache
def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{text!r} isn't an expression: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise ValueError("an expression is nested too deeply") from None


def _evaluated(node: ast.expr, values: Values, key: Key) -> Range:
    """The number at one key of the series in an expression."""
    match node:
        case ast.Name(id=name):
            found = values[name]
            return found if isinstance(found, Range) else found.get(key, q.UNKNOWN)
        case ast.Constant(value=bool()):
            raise ValueError(f"{node.value!r} is not a number")
        case ast.Constant(value=int() | float() as number):
            return q.exactly(float(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return q.subtract(q.exactly(0.0), _evaluated(operand, values, key))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return _OPERATORS[type(operator)](_evaluated(left, values, key), _evaluated(right, values, key))
        case ast.Call(func=ast.Name(id=function), args=[_, *_] as arguments, keywords=[]):
            return _called(function, arguments, values, key)
        case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            raise ValueError(f"{ast.unparse(node)!r} is a condition, not a number")
        case _:
            raise _not_understood(node)


def _called(function: str, arguments: list[ast.expr], values: Values, key: Key) -> Range:
    if function not in FUNCTIONS:
        raise ValueError(f"there is no function {function!r}. Valid choices: {', '.join(FUNCTIONS)}")
    if function in _OF_ONE and len(arguments) != 1:
        raise ValueError(f"{function} takes one quantity, not {len(arguments)}")
    if function in _OF_A_SERIES:
        keys = _keys(arguments[0], values, key)
        return _OF_A_SERIES[function]([_evaluated(arguments[0], values, each) for each in keys])
    return _OF_ITS_ARGUMENTS[function]([_evaluated(argument, values, key) for argument in arguments])


def _decided(node: ast.expr, values: Values) -> Truth:
    match node:
        case ast.BoolOp(op=operator, values=conditions):
            found = [_decided(condition, values) for condition in conditions]
            return q.all_of(found) if isinstance(operator, ast.And) else q.any_of(found)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            truth = _decided(operand, values)
            return None if truth is None else not truth
        case ast.Compare(left=left, ops=[ast.Lt() | ast.Gt() as operator], comparators=[right]):
            pairs = [(_evaluated(left, values, key), _evaluated(right, values, key)) for key in _keys(node, values, ())]
            ascending = isinstance(operator, ast.Lt)
            return q.all_of(q.is_below(*(pair if ascending else reversed(pair))) for pair in pairs)
        case ast.Compare():
            raise _not_understood(node)
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is not a condition")


def _keys(node: ast.AST, values: Values, otherwise: Key) -> list[Key]:
    """The keys at which an expression is evaluated: those of its series, or just one where it has none."""
    series = list(_series(node, values))
    return list(dict.fromkeys(key for each in series for key in each)) if series else [otherwise]


def _series(node: ast.AST, values: Values) -> Iterator[Mapping[Key, Range]]:
    """The series in an expression, but for those that a function makes one number of."""
    if isinstance(node, ast.Name) and not isinstance(found := values.get(node.id, q.UNKNOWN), Range):
        yield found
    elif not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OF_A_SERIES):
        for child in ast.iter_child_nodes(node):
            yield from _series(child, values)


def _not_understood(node: ast.expr) -> ValueError:
    return ValueError(f"{ast.unparse(node)!r} isn't understood: numbers, names, + - * / **, < >, and, or, not")
