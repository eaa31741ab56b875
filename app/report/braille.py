"""A canvas of braille dots, two across and four down in a cell, with letters over them; or the same in ASCII."""

from __future__ import annotations

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800


class Canvas:
    """Positions are shares: x 0..1 from the left, y 0..1 from the bottom; outside of it nothing is drawn."""

    def __init__(self, width: int, height: int, *, ascii_only: bool = False) -> None:
        self.width, self.height = max(1, width), max(1, height)
        self._ascii = ascii_only
        self._dots = [[0] * self.width for _ in range(self.height)]
        self._letters: dict[tuple[int, int], str] = {}

    def dot(self, x: float, y: float) -> None:
        if not (0 <= x <= 1 and 0 <= y <= 1):
            return
        column = min(2 * self.width - 1, round(x * (2 * self.width - 1)))
        row = min(4 * self.height - 1, round((1 - y) * (4 * self.height - 1)))
        self._dots[row // 4][column // 2] |= _DOTS[row % 4][column % 2]

    def line(self, x0: float, y0: float, x1: float, y1: float, *, every: int = 1) -> None:
        """`every`: 1 is solid, 3 a dot in three."""
        steps = max(2 * self.width, 4 * self.height)
        for n in range(0, steps + 1, every):
            share = n / steps
            self.dot(x0 + (x1 - x0) * share, y0 + (y1 - y0) * share)

    def rectangle(self, x0: float, y0: float, x1: float, y1: float, *, every: int = 1) -> None:
        for a, b, c, d in ((x0, y0, x1, y0), (x1, y0, x1, y1), (x1, y1, x0, y1), (x0, y1, x0, y0)):
            self.line(a, b, c, d, every=every)

    def letter(self, x: float, y: float, mark: str) -> None:
        """One character in the cell; a later one replaces an earlier one."""
        if 0 <= x <= 1 and 0 <= y <= 1:
            column = min(self.width - 1, int(x * self.width))
            self._letters[(min(self.height - 1, int((1 - y) * self.height)), column)] = mark

    def lines(self) -> list[str]:
        return [
            "".join(self._cell(row, column) for column in range(self.width)) for row in range(self.height)
        ]

    def _cell(self, row: int, column: int) -> str:
        if (row, column) in self._letters:
            return self._letters[row, column]
        dots = self._dots[row][column]
        if not dots:
            return " "
        return "." if self._ascii else chr(_BLANK + dots)
