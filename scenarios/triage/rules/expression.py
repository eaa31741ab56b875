"""The small language of rule files: comparisons and arithmetic on values that may be absent.

Python's syntax, parsed and never run: names, numbers, texts, lists, `and or not`, comparisons, `in`, `+ - * /`,
`a if b else c`, `None` for what is not known, and the functions below. What is absent makes an answer unknown, unless
the rest decides it: `speed < 1000 and up` is false where `up` is, whatever the speed.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from hostdx.probes.cpu_list import parse_cpu_list
from hostdx.probes.number_text import parse_hexadecimal
from hostdx.probes.types import Absent, is_present

# bool, int, float, str, a tuple of these, or why there is none
Value: TypeAlias = Any
Names: TypeAlias = Mapping[str, Value]

MAX_LETTERS = 2000
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "len": len,
    "min": min,
    "max": max,
    "abs": abs,
    "int": int,
    "float": float,
    "lower": lambda text: text.lower(),
    "starts": lambda text, word: text.startswith(word),
    "matches": lambda text, pattern: re.search(pattern, text) is not None,
    "hex": lambda digits: _hexadecimal_number(str(digits)),
    "words": lambda text: tuple(text.split()),
    "found": lambda text, pattern: _first_group_matched(text, pattern),
    "largest": lambda text: max(map(int, re.findall(r"-?[0-9]{1,18}", str(text)))),  # number of a text
    "cpus": lambda text: _count_listed_cpus(text),  # of a list such as `2-31,64`
    "joined": lambda items: ", ".join(str(item) for item in items),
    "joined_with": lambda items, between: between.join(str(item) for item in items),
}


def _hexadecimal_number(digits: str) -> Value:
    number = parse_hexadecimal(digits)
    return Absent(f"{digits[:40]!r} is no hexadecimal number", "invalid") if number is None else number


def _count_listed_cpus(text: str) -> Value:
    """Return how many CPUs a list such as `2-31,64` names. `isolcpus=` may have words before its list."""
    cpus = parse_cpu_list(",".join(part for part in text.split(",") if part[:1].isdigit()))
    return len(cpus) if cpus is not None else Absent(f"{text[:40]!r} is no list of CPUs", "invalid")


def _first_group_matched(text: str, pattern: str) -> Value:
    match = re.search(pattern, text)
    return match[1] if match else Absent(f"nothing in {text[:40]!r} matches {pattern}", "unsupported")


_LAZY = frozenset({"known", "given"})  # these look at what is absent too


class InvalidExpression(ValueError):
    """The expression is not in the language: what of it, in one line."""


class Expression:
    """A checked expression; `needed_names` are those that it needs."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tree = _parse_allowed_expression(text)

    @cached_property
    def needed_names(self) -> frozenset[str]:
        return frozenset(
            node.id
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Name) and node.id not in (*_FUNCTIONS, *_LAZY)
        )

    def value(self, names: Names) -> Value:
        """The value, or Absent where it is unknown. Never raises."""
        return _evaluate_or_absent(self._tree, names)

    def __call__(self, names: Names) -> bool | Absent:
        result = self.value(names)
        return result if isinstance(result, Absent) else bool(result)


@lru_cache(maxsize=2000)
def parse_expression(text: str) -> Expression:
    """Raises InvalidExpression."""
    return Expression(text)


def _parse_allowed_expression(text: str) -> ast.expr:
    if len(text) > MAX_LETTERS:
        raise InvalidExpression(f"an expression has more than {MAX_LETTERS} letters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else str(error)
        raise InvalidExpression(f"{text!r} is no expression: {why}") from None
    for node in _nodes_to_check(tree):
        if isinstance(node, ast.Call):
            is_known = isinstance(node.func, ast.Name) and node.func.id in (*_FUNCTIONS, *_LAZY)
            if not is_known or node.keywords:
                raise InvalidExpression(f"{text!r}: {ast.unparse(node.func)} is no function of rules")
        elif isinstance(node, ast.Constant):
            if not isinstance(node.value, str | int | float | bool | None):
                raise InvalidExpression(f"{text!r}: {node.value!r} is no value of rules")
        else:
            raise InvalidExpression(f"{text!r}: {type(node).__name__} is not part of the language of rules")
    return tree


def _nodes_to_check(tree: ast.expr) -> Iterator[ast.AST]:
    """Yield each node whose type alone does not allow it; `ast.walk` takes four times as long."""
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        if type(node) not in _ALLOWED:
            yield node
        for field in node._fields:
            child = getattr(node, field, None)
            if isinstance(child, list):
                nodes += child
            elif isinstance(child, ast.AST):
                nodes.append(child)


_ALLOWED = frozenset(
    {
        ast.BoolOp,
        ast.UnaryOp,
        ast.BinOp,
        ast.Compare,
        ast.IfExp,
        ast.Name,
        ast.Tuple,
        ast.List,
        ast.Load,
        ast.And,
        ast.Or,
        ast.Not,
        ast.USub,
        *_ARITHMETIC,
        *_COMPARISONS,
    }
)


def _evaluate_or_absent(node: ast.expr, names: Names) -> Value:
    """Return what cannot be worked out (a text below a number, nothing to divide by) is unknown, and that alone."""
    try:
        return _evaluate_node(node, names)
    except (TypeError, ValueError, ArithmeticError, AttributeError, re.error, RecursionError) as error:
        return Absent(f"{ast.unparse(node)}: {error}", "invalid")


def _evaluate_node(node: ast.expr, names: Names) -> Value:
    if isinstance(node, ast.Constant):
        return Absent("not known here", "unsupported") if node.value is None else node.value
    if isinstance(node, ast.Name):
        return _value_or_absent(node.id, names)
    if isinstance(node, ast.BoolOp):
        return _and_or_value(node, names)
    if isinstance(node, ast.IfExp):
        test = _evaluate_or_absent(node.test, names)
        return (
            test
            if isinstance(test, Absent)
            else _evaluate_or_absent(node.body if test else node.orelse, names)
        )
    if isinstance(node, ast.Call):
        return _evaluate_call(node, names)
    if isinstance(node, ast.Compare):
        return _evaluate_comparison(node, names)
    parts = [_evaluate_or_absent(part, names) for part in _operand_nodes(node)]
    missing = next((part for part in parts if isinstance(part, Absent)), None)
    if missing is not None:
        return missing
    if isinstance(node, ast.UnaryOp):
        return not parts[0] if isinstance(node.op, ast.Not) else -parts[0]
    if isinstance(node, ast.BinOp):
        _require_numbers(node.op, parts)
        return _ARITHMETIC[type(node.op)](*parts)
    return tuple(parts)


def _operand_nodes(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]


def _value_or_absent(name: str, names: Names) -> Value:
    try:
        return names[name]
    except KeyError:
        return Absent(f"{name} is not known here", "unsupported")


def _require_numbers(op: ast.operator, parts: list[Value]) -> None:
    """`'x' * 1000000000` and the like would fill the memory; texts may only be joined."""
    if not all(isinstance(part, int | float) for part in parts) and not isinstance(op, ast.Add):
        raise TypeError("arithmetic needs numbers")


def _and_or_value(node: ast.BoolOp, names: Names) -> Value:
    """Kleene's logic: one false part makes `and` false, one true part makes `or` true, whatever is unknown."""
    decides = isinstance(node.op, ast.Or)
    unknown: Absent | None = None
    for part in node.values:
        operand = _evaluate_or_absent(part, names)
        if isinstance(operand, Absent):
            unknown = operand if unknown is None else unknown
        elif bool(operand) is decides:
            return decides
    return not decides if unknown is None else unknown


def _evaluate_call(node: ast.Call, names: Names) -> Value:
    assert isinstance(node.func, ast.Name)
    values = [_evaluate_or_absent(part, names) for part in node.args]
    if node.func.id == "known":
        return all(is_present(value) for value in values)
    if node.func.id == "given":  # the first that is known
        return next(filter(is_present, values), values[-1] if values else Absent("nothing"))
    missing = next((value for value in values if isinstance(value, Absent)), None)
    return missing if missing is not None else _FUNCTIONS[node.func.id](*values)


def _evaluate_comparison(node: ast.Compare, names: Names) -> Value:
    left = _evaluate_or_absent(node.left, names)
    for op, part in zip(node.ops, node.comparators, strict=True):
        right = _evaluate_or_absent(part, names)
        for side in (left, right):
            if isinstance(side, Absent):
                return side
        if not _COMPARISONS[type(op)](left, right):
            return False
        left = right
    return True
