"""The words of a verdict, as they stand in recordings and JSON, and the questions that code asks instead of them."""

from __future__ import annotations

from enum import StrEnum


class _Questions:
    __slots__ = ()

    @property
    def _word(self) -> str:
        raise NotImplementedError

    @property
    def slower(self) -> bool:
        return self._word == Word.SLOWER

    @property
    def faster(self) -> bool:
        return self._word == Word.FASTER

    @property
    def differs(self) -> bool:
        """Decided, by more than the margin, in either direction."""
        return self.slower or self.faster

    @property
    def equal(self) -> bool:
        """Decided: whatever difference there is lies within the margin."""
        return self._word == Word.EQUAL

    @property
    def decided(self) -> bool:
        return self.differs or self.equal

    @property
    def undecided(self) -> bool:
        """Measured, and nothing can be said."""
        return self._word == Word.UNDECIDED

    @property
    def judged(self) -> bool:
        """Measured as it should be, whether that decided it or not."""
        return self.decided or self.undecided

    @property
    def not_measured(self) -> bool:
        """Not started, for want of time, bytes or rights."""
        return self._word == Word.NOT_MEASURED


class Word(_Questions, StrEnum):
    SLOWER = "slower"
    FASTER = "faster"
    EQUAL = "no material difference"
    UNDECIDED = "inconclusive"
    NOT_APPLICABLE = "not applicable"
    NOT_MEASURED = "not measured"

    @property
    def _word(self) -> str:
        return self


OPEN = Word.UNDECIDED  # of an effect so far: nothing is decided of it
NOT_YET = Word.NOT_MEASURED  # of what is still to be measured
UNFIT = Word.NOT_APPLICABLE  # of what is not what it claims to be


class Judged(_Questions):
    """Whatever carries a verdict; `verdict` is its word."""

    __slots__ = ()
    verdict: Word

    @property
    def _word(self) -> str:
        return self.verdict
