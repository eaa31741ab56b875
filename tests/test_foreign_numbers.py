"""No function tells by `isdecimal` or `isdigit` whether `int` will take a text: it raises beyond 4,300 digits.

`hostdx.probes.number_text` is the one way. Read off the syntax of every module.
"""

import ast

from tests.syntax import ROOT, modules, nodes

ASKS = {"isdecimal", "isdigit", "isnumeric"}


def test_no_function_asks_for_digits_and_then_calls_int() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        for path in modules("probes", "scenarios", "app")
        if any(word in path.read_text() for word in ASKS)
        for function in nodes(path)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and _asks_for_number(function)
        and _calls_int(function)
    ]
    assert wrong == []


def test_the_check_sees_one() -> None:
    (function,) = ast.parse("def f(t):\n    return int(t) if t.isdecimal() else 0").body
    assert isinstance(function, ast.FunctionDef) and _asks_for_number(function) and _calls_int(function)


def _asks_for_number(function: ast.AST) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in ASKS for node in ast.walk(function))


def _calls_int(function: ast.AST) -> bool:
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(isinstance(call, ast.Name) and call.id == "int" for call in calls)
