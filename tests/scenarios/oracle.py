"""SciPy and NumPy, imported by the first test that asks them: the import takes a second, and every process of the suite
collects every test."""

from importlib import import_module
from typing import Any


class LateModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks each name of a module for what it wraps and mocks
            raise AttributeError(name)
        return getattr(import_module(self._name), name)


numpy = LateModule("numpy")
integrate, optimize, special, stats = (
    LateModule(f"scipy.{name}") for name in ("integrate", "optimize", "special", "stats")
)
