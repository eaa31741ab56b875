"""The terms that the screens use, each in one sentence: a part of the keys' screen, filtered and scrolled like them."""

from functools import partial

from app.lines import Line, crop, text, wrapped
from app.tui.widgets.picker import Picker, PickerRow

_WORD = 14


WORDS = {
    "A, B": "the sides that are compared; A, the first, is the baseline",
    "load": "what is done to the disk, the CPUs or the network",
    "group": "A, B, B, A measured in turn: one comparison of both",
    "block": "one measurement of one side, without a pause",
    "warming up": "the first blocks, which are in no figure",
    "disturbed": "others used the disk or the CPUs: the group is measured again",
    "control": "a load that must not differ; if it does, trust nothing",
    "margin": "the smallest effect that matters: 5 %, or --margin",
    "slower": "the interval leaves out 1, the effect is beyond the margin",
    "within ±5 %": "no material difference: the interval lies within the margin",
    "inconclusive": "neither; the smallest detectable effect is named",
    "95 % CI": "where the true effect lies, in 95 of 100 such runs",
    "interim look": "a planned check whether the groups decide already",
    "resolution": "the smallest effect that could be told from none",
    "QD1, QD16, x8": "1, 16, 8 requests at a time (the queue depth)",
    "p50, p99": "so long 50, or 99, of 100 operations took at most",
    "IOPS": "operations a second: reads, or writes that are on the disk",
    "this stack": "disk, file system, options and scheduler together",
    "io pressure": "share of the time in which a task waited for I/O",
    "steal": "CPU time that the hypervisor gave to other guests",
    "in D": "a wait that no signal ends: for a disk or a file server",
}


def _line(term: str, said: str, width: int) -> Line:
    return [(f"{term:<{_WORD}}", "strong"), *wrapped(said, max(8, width - _WORD))[0]]


def _second(said: str, width: int) -> Line:
    rest = wrapped(said, max(8, width - _WORD))[1:]
    return [(" " * _WORD, "text"), *(part for line in rest for part in line)] if rest else []


def word_lines(width: int) -> list[Line]:
    """All of them under a head, a line each: what can be read meanwhile."""
    named = [crop([(f"{name:<{_WORD}} ", "text"), (means, "dim")], width) for name, means in WORDS.items()]
    return [text("WORDS THAT COME UP", "title"), *named]


class WordList(Picker):
    """Nothing to choose: it is read."""

    def __init__(self) -> None:
        super().__init__(id="words", title="WORDS")
        self._rows = [
            PickerRow(name, partial(_line, name, means), f"{name} {means}", partial(_second, means))
            for name, means in WORDS.items()
        ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "choose"
