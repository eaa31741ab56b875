"""Lines by which the kernel, a daemon or a program that was asked says itself what is wrong, with what it costs and
what helps.
"""

from hostdx.scenarios.contract.finding import Severity
from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries

KERNEL = "kernel"
ANY = "*"  # any program of the system's log


class FaultLine(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """`pattern`: what a line meets; its groups fill the places of their names in `title`, and the first that is there
    `{subject}`. `programs`: daemons, the kernel, or ANY of them but the kernel.

    `least`: how many such lines are a fault; from `loud` on they are a warning (0: `severity` holds).
    A later line that meets `settled` says that it is over.
    `explains`: lines of the same programs that follow from it; other entries do not report them then.
    `boot`: parameters that help, of which `{boot}` in `advice` names those that are not set yet.
    `example` is such a line, `trap` one that looks like it and is none.
    """

    programs: tuple[str, ...]
    pattern: str
    title: str
    effect: str
    advice: str
    example: str
    trap: str
    source: str
    severity: Severity = "warning"
    least: int = 1
    loud: int = 0
    boot: tuple[str, ...] = ()
    settled: str = ""
    explains: str = ""
    pattern_words: tuple[str, ...] = ()  # worked out: probes/reading/patterns.py


def list_fault_lines() -> tuple[FaultLine, ...]:
    return load_entries("fault_lines", "fault_line", FaultLine).entries


class PrintedState(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """A state that a program prints. `outputs`: the paths that a sosreport has for what it printed; `command` prints it
    again. `pattern`: each match is a fault; its first group that is there is `{subject}` of `title`. `example` and
    `trap`: texts that the program prints, the second without a fault.
    """

    outputs: tuple[str, ...]
    command: str
    pattern: str
    title: str
    effect: str
    advice: str
    example: str
    trap: str
    source: str
    severity: Severity = "warning"
    pattern_words: tuple[str, ...] = ()  # worked out: probes/reading/patterns.py


def list_printed_states() -> tuple[PrintedState, ...]:
    return load_entries("printed_states", "printed_state", PrintedState).entries
