"""Expressions of claims over named quantities: arithmetic and comparisons as Python writes them, and six functions. Nothing else.

    highest(kafka / pulsar)                100 * (1 - kafka / pulsar)                kafka < nats and nats < redpanda

A comparison of two series is true if it is true of every pair.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache, reduce

from analysis.claims import quantity as q
from analysis.claims.quantity import Quantity, Range, Series, Truth

_OPERATORS: Mapping[type[ast.operator], Callable[[Range, Range], Range]] = {
    ast.Add: q.add,
    ast.Sub: q.subtract,
    ast.Mult: q.multiply,
    ast.Div: q.divide,
    ast.Pow: q.power,
}
_OF_A_SERIES: Mapping[str, Callable[[Series], Range]] = {"lowest": q.lowest, "highest": q.highest, "total": q.total}
_OF_SEVERAL: Mapping[str, Callable[[Range, Range], Range]] = {"smaller": q.smaller, "larger": q.larger}
_OF_ONE: Mapping[str, Callable[[Range], Range]] = {"log10": q.decimal_logarithm}
FUNCTIONS = (*_OF_A_SERIES, *_OF_SEVERAL, *_OF_ONE)
_COMPARISONS = (ast.Lt, ast.Gt)


def names_in(text: str) -> tuple[str, ...]:
    """The names of quantities in an expression. Raises ValueError, saying what isn't understood."""
    return tuple(dict.fromkeys(_names(_parsed(text))))


def figure_of(text: str, values: Mapping[str, Quantity]) -> Range:
    """The number that an expression stands for. Raises ValueError if it isn't one."""
    found = _evaluated(_parsed(text), values)
    if not isinstance(found, Range):
        raise ValueError(f"{text!r} is no number: take the lowest, the highest or the total of a series")
    return found


def truth_of(text: str, values: Mapping[str, Quantity]) -> Truth:
    """Whether a condition holds. Raises ValueError if it isn't one."""
    return _decided(_parsed(text), text, values)


@cache
def _parsed(text: str) -> ast.expr:
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{text!r} isn't an expression: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise ValueError("an expression is nested too deeply") from None
    list(_names(tree))
    return tree


def _names(node: ast.expr) -> Iterator[str]:
    """The names of an expression; refuses every form that isn't one of ours."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Constant(value=bool()):
            raise ValueError(f"{node.value!r} is no number")
        case ast.Constant(value=int() | float()):
            return
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            yield from (*_names(left), *_names(right))
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield from _names(operand)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _names(value)
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARISONS:
            yield from (*_names(left), *_names(right))
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]) if function in FUNCTIONS and arguments:
            for argument in arguments:
                yield from _names(argument)
        case ast.Call(func=ast.Name(id=function)):
            raise ValueError(f"there is no function {function!r}. Valid choices: {', '.join(FUNCTIONS)}")
        case _:
            raise ValueError(f"{ast.unparse(node)!r} isn't understood: numbers, names, + - * / **, < >, and, or, not")


def _evaluated(node: ast.expr, values: Mapping[str, Quantity]) -> Quantity:
    match node:
        case ast.Name(id=name):
            return values[name]
        case ast.Constant(value=int() | float() as number):
            return q.exactly(float(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return q.combine(q.subtract, q.exactly(0.0), _evaluated(operand, values))
        case ast.BinOp(left=left, op=operator, right=right):
            return q.combine(_OPERATORS[type(operator)], _evaluated(left, values), _evaluated(right, values))
        case ast.Call(func=ast.Name(id=function), args=arguments):
            return _called(function, [_evaluated(argument, values) for argument in arguments])
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is a condition and no number")


def _called(function: str, arguments: list[Quantity]) -> Quantity:
    if function in _OF_SEVERAL:
        return reduce(lambda left, right: q.combine(_OF_SEVERAL[function], left, right), arguments)
    if len(arguments) != 1:
        raise ValueError(f"{function} is of one quantity, not of {len(arguments)}")
    (argument,) = arguments
    if function in _OF_A_SERIES:
        return _OF_A_SERIES[function](argument) if isinstance(argument, Series) else argument
    of_one = _OF_ONE[function]
    return (
        of_one(argument)
        if isinstance(argument, Range)
        else Series({key: of_one(each) for key, each in argument.values.items()})
    )


def _decided(node: ast.expr, text: str, values: Mapping[str, Quantity]) -> Truth:
    match node:
        case ast.BoolOp(op=operator, values=conditions):
            found = [_decided(condition, text, values) for condition in conditions]
            return q.all_of(found) if isinstance(operator, ast.And) else q.any_of(found)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            truth = _decided(operand, text, values)
            return None if truth is None else not truth
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            lower, upper = (_evaluated(side, values) for side in (left, right))
            return _below(*((lower, upper) if isinstance(operator, ast.Lt) else (upper, lower)))
        case _:
            raise ValueError(f"{text!r} is no condition")


def _below(lower: Quantity, upper: Quantity) -> Truth:
    if isinstance(lower, Range) and isinstance(upper, Range):
        return q.is_below(lower, upper)
    return q.all_of(q.is_below(*pair) for pair in _pairs(lower, upper))


def _pairs(left: Quantity, right: Quantity) -> list[tuple[Range, Range]]:
    firsts, seconds = (q.combine(keep, left, right) for keep in (lambda one, _: one, lambda _, other: other))
    assert isinstance(firsts, Series) and isinstance(seconds, Series)
    return [(firsts.values[key], seconds.values[key]) for key in firsts.values]
