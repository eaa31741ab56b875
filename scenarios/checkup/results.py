"""A checkup's answer as it is recorded."""

from __future__ import annotations

from typing import ClassVar

from hostdx.scenarios.contract.results.result import RankedAnswer


class CheckupAnswer(RankedAnswer, frozen=True, tag="checkup.answer/1"):
    name: ClassVar[str] = "checkup"
