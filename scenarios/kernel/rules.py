"""Read-only rule: kernels with known faults. A version alone is a notice, with its symptom a warning."""

from collections.abc import Iterator

from probes.reading.host import Host
from probes.system.software.kernel import read_kernel
from probes.types import Absent, is_present
from scenarios.contract.finding import Evidence, Finding, Remedy
from scenarios.contract.rule import HostRule, Inapplicable, require_readable
from scenarios.kernel.symptoms import NEEDS, SYMPTOMS, first_look
from scenarios.triage.knowledge.hardware import faults_of_module, module_faults
from scenarios.triage.knowledge.kernels import KernelFault, faults_here
from scenarios.triage.rules.texts import texts

SAYS = texts("kernel")


def check_known_faults(host: Host) -> Iterator[Finding]:
    """The running kernel's entries of knowledge/kernels.toml that can matter on this host."""
    running = read_kernel(host)
    release = require_readable(running.release, "the kernel's release")
    reported_ids: set[str] = set()
    for fault in faults_here(host):
        if fault.scheduler or fault.of != "kernel" or fault.id in reported_ids:
            continue
        met = [NEEDS[need](host) for need in fault.needs if need in NEEDS]
        if any(answer == "" for answer in met):
            continue
        symptom = _check_symptom(fault, host)
        unmet = next((answer for answer in met if isinstance(answer, Absent)), None)
        if unmet is not None and symptom != "":  # a symptom counts only where the fault is known to apply
            symptom = unmet
        if fault.quiet and not symptom:
            continue
        reported_ids.add(fault.id)
        yield _fault_finding(
            fault, release, running.source, [answer for answer in met if isinstance(answer, str)], symptom
        )


def _check_symptom(fault: KernelFault, host: Host) -> str | Absent:
    if not fault.symptom:
        return Absent("no fact that can be read shows it", "unsupported")
    probe = SYMPTOMS.get(fault.symptom)
    return probe(host) if probe is not None else Absent(f"no symptom is called {fault.symptom}", "invalid")


def _fault_finding(
    fault: KernelFault, release: str, source: str, met: list[str], symptom: str | Absent
) -> Finding:
    shows = isinstance(symptom, str) and bool(symptom)
    evidence = [SAYS.evidence("running", release=release, source=source), *(Evidence(text) for text in met)]
    if isinstance(symptom, Absent):
        evidence.append(SAYS.evidence("symptom-unknown", reason=symptom.reason))
    else:
        evidence.append(Evidence(symptom) if symptom else SAYS.evidence("no-symptom"))
    evidence.append(Evidence(fault.effect))
    if fault.fixed_in:
        evidence.append(SAYS.evidence("fixed-in", fixed=fault.fixed_in))
    known_for = SAYS.text("known-for", release=release, fault=_lower_first_letter(fault.title))
    return SAYS.finding(
        "fault",
        id=f"kernel.{fault.id}",
        severity="warning" if shows or fault.grave else "notice",
        confidence="rule" if shows else "hint",
        fault=fault.title if shows else known_for,
        update=fault.remedy,
        evidence=evidence,
        references=fault.sources,
    )


def _lower_first_letter(text: str) -> str:
    """`High load` becomes `high load`, `XFS commits` and `I/O wait` stay."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def check_modules(host: Host) -> Iterator[Finding]:
    """Modules from outside of the kernel whose version is in knowledge/modules.toml."""
    names = dict.fromkeys(fault.module for fault in module_faults())
    versions = {
        name: version
        for name in names
        if is_present(version := host.read_word(f"/sys/module/{name}/version"))
    }
    if not versions:
        raise Inapplicable("no module of which faults are known is loaded, or its version is not told")
    for name, version in versions.items():
        for fault in faults_of_module(name, version):
            yield SAYS.finding(
                "module-fault",
                id="kernel.module-faults",
                severity="warning" if fault.grave else "notice",
                subject=f"{name}: {fault.title}",
                module=name,
                version=version,
                fault=fault.title,
                effect=fault.effect,
                remedy=(Remedy(title=fault.remedy, commands=fault.commands, verify=fault.commands[:1]),),
                references=fault.sources,
            )


RULES: tuple[HostRule, ...] = (
    HostRule(
        "kernel.known-faults",
        "kernel",
        "kernels with known faults",
        check_known_faults,
        first_look=first_look,
    ),
    HostRule(
        "kernel.module-faults",
        "kernel",
        "modules from outside of the kernel with known faults",
        check_modules,
    ),
)
