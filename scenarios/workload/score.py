"""The user's own score, found in what the command prints: `--score 'regex'` or `--score json:path`."""

from __future__ import annotations

import json
import math
import re

from scenarios.model import Usage

JSON = "json:"


class Score:
    """`text` is a regular expression whose first group is the number (the last match counts), or `json:a.b.0`."""

    def __init__(self, text: str) -> None:
        self._path = text[len(JSON) :].split(".") if text.startswith(JSON) else []
        self._pattern: re.Pattern[str] | None = None
        if text.startswith(JSON):
            if not all(self._path):
                raise Usage(f"--score {text}: write json:name.name")
            return
        try:
            self._pattern = re.compile(text, re.MULTILINE)
        except re.error as error:
            raise Usage(f"--score {text!r}: no regular expression: {error}") from None
        if self._pattern.groups != 1:
            raise Usage(f"--score {text!r}: needs one group in (), around the number")

    def find(self, output: str) -> float | None:
        """A finite number above 0, or None."""
        try:
            value = float(self._from_json(output) if self._pattern is None else self._from_text(output))
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError):
            return None
        return value if math.isfinite(value) and value > 0 else None

    def _from_text(self, output: str) -> str:
        assert self._pattern is not None
        return list(self._pattern.finditer(output))[-1][1]

    def _from_json(self, output: str) -> float:
        value = json.loads(output)
        for name in self._path:
            value = value[int(name)] if isinstance(value, list) else value[name]
        if isinstance(value, bool):
            raise ValueError("no number")
        return float(value)
