"""Kernels with known faults among the compared ones, as far as the recorded facts do not rule a fault out."""

from collections.abc import Callable, Sequence

import msgspec

from probes.types import Json
from scenarios.analysis.compare.run_summary import FactKey, RunSummary
from scenarios.triage.knowledge.kernels import KernelFault, faults_of

MIN_MANY_CPUS = 16  # as for the running kernel: scenarios/kernel/symptoms.py


class KnownFault(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel with a known fault on one side (or both). The version alone: nothing says that it shows here."""

    sides: tuple[str, ...]
    release: str
    id: str
    title: str
    effect: str
    fixed_in: str
    sources: tuple[str, ...]


# By the need of an entry of kernels.toml: the recorded fact that tells, and whether its value meets the need.
_TELLS: dict[str, tuple[FactKey, Callable[[Json], bool]]] = {
    "retbleed-ibrs": (("mitigation", "retbleed"), lambda value: value == "Mitigation: IBRS"),
    "huge-pages-always": (("memory", "transparent_huge_pages"), lambda value: value == "always"),
    "amd": (("cpu", "vendor"), lambda value: "AMD" in str(value)),
    "acpi-idle": (("cpu", "idle_driver"), lambda value: value == "acpi_idle"),
    "many-cpus": (("cpu", "threads"), lambda value: isinstance(value, int) and value > MIN_MANY_CPUS),
    "smt": (("cpu", "smt"), lambda value: value == "on"),
    "xfs": (("directory", "file_system"), lambda value: value == "xfs"),
    "cpu-quota": (("cgroup", "cpu"), lambda value: value != "none"),
}


def release_of(run: RunSummary) -> str:
    return _kernel_fact(run, "release")


def known_faults(a: Sequence[RunSummary], b: Sequence[RunSummary]) -> tuple[KnownFault, ...]:
    """Those of one side only first: what both kernels have explains no difference."""
    sides_by_fault: dict[tuple[str, str], tuple[list[str], KernelFault]] = {}
    for side, runs in (("A", a), ("B", b)):
        for run in runs:
            release = release_of(run)
            for fault in faults_of(release, _kernel_fact(run, "build")):
                if fault.quiet or _ruled_out(fault, run):
                    continue
                sides, _ = sides_by_fault.setdefault((release, fault.id), ([], fault))
                if side not in sides:
                    sides.append(side)
    faults = [
        KnownFault(
            sides=tuple(sides),
            release=release,
            id=fault.id,
            title=fault.title,
            effect=fault.effect,
            fixed_in=fault.fixed_in,
            sources=fault.sources,
        )
        for (release, _), (sides, fault) in sides_by_fault.items()
    ]
    return tuple(sorted(faults, key=lambda fault: len(fault.sides)))


def _ruled_out(fault: KernelFault, run: RunSummary) -> bool:
    """By a recorded fact. What was not recorded rules nothing out."""
    if fault.scheduler:
        active = {
            str(value) for (subject, name), value in run.facts.items() if name == "scheduler" and subject
        }
        if active and fault.scheduler not in active:
            return True
    links = {str(value) for (_, name), value in run.facts.items() if name == "transport"}
    if links and "sata-link-sleeps" in fault.needs and "sata" not in links:
        return True
    fact_tests = [_TELLS[need] for need in fault.needs if need in _TELLS]
    return any(key in run.facts and not met(run.facts[key]) for key, met in fact_tests)


def _kernel_fact(run: RunSummary, name: str) -> str:
    value = run.facts.get(("kernel", name), "")
    return value if isinstance(value, str) else ""
