"""Lines by which the kernel, a daemon or a program that was asked says itself what is wrong, with what it costs and
what helps.
"""

from hostdx.scenarios.contract.finding import Severity
from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries

KERNEL = "kernel"
ANY = "*"  # any program of the system's log


class StatedFault(KnowledgeEntry, frozen=True, kw_only=True):
    """A fault that a text tells, what it costs and what helps. `pattern`: what the text meets; the first of its groups
    that is there is `{subject}` of `title`. `example` is such a text, `trap` one that looks like it and is none.
    """

    pattern: str
    title: str
    effect: str
    advice: str
    example: str
    trap: str
    source: str
    severity: Severity = "warning"
    pattern_words: tuple[str, ...] = ()  # worked out: probes/reading/patterns.py


class FaultLine(StatedFault, frozen=True, forbid_unknown_fields=True):
    """A line of a log; the groups of `pattern` fill the places of their names in `title`, too. `programs`: daemons, the
    kernel, or ANY of them but the kernel.

    `least`: how many such lines are a fault; from `loud` on they are a warning (0: `severity` holds).
    A later line that meets `settled` says that it is over.
    `explains`: lines of the same programs that follow from it; other entries do not report them then.
    `boot`: parameters that help, of which `{boot}` in `advice` names those that are not set yet.
    """

    programs: tuple[str, ...]
    least: int = 1
    loud: int = 0
    boot: tuple[str, ...] = ()
    settled: str = ""
    explains: str = ""


def list_fault_lines() -> tuple[FaultLine, ...]:
    return load_entries("fault_lines", "fault_line", FaultLine).entries


class PrintedState(StatedFault, frozen=True, forbid_unknown_fields=True):
    """A state that a program prints: each match of `pattern` is one. `outputs`: the paths that a sosreport has for what
    it printed; `command` prints it again.
    """

    outputs: tuple[str, ...]
    command: str


def list_printed_states() -> tuple[PrintedState, ...]:
    return load_entries("printed_states", "printed_state", PrintedState).entries
