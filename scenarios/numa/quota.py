"""The CPU quota that the CPUs were measured under: how often it was reached, as a finding."""

from collections.abc import Iterator

import msgspec

from hostdx.probes import units
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.numa import remedies
from hostdx.scenarios.numa.measurement.cpu import CpuResult
from hostdx.scenarios.numa.measurement.surroundings import CpuConditions
from hostdx.scenarios.triage.cpus.quota import SessionQuota
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("numa")
HELD_SPEAKS = 0.05  # of the time, and of the quota's periods


def quota_findings(result: CpuResult, around: CpuConditions) -> Iterator[Finding]:
    if around.quota_cores is None:
        return
    quota = _make_quota(result, around)
    speaks = is_held_back_by_quota(result, around)
    if not quota.is_below_host and not speaks:
        return  # as much as there is
    held, periods = around.quota_periods
    if (
        quota.throttled_share or 0.0
    ) <= HELD_SPEAKS:  # others took the CPUs, or fewer than the quota were loaded
        quota = msgspec.structs.replace(quota, reached=(0, 0))
    # The kernel adds up what each CPU's run queue was held back: two CPUs wait two seconds in one.
    cpus = max(1, len(result.share))
    meanwhile = SAYS.evidence(
        "quota-reached",
        held=held,
        periods=periods,
        seconds=result.seconds,
        held_back=around.quota_held_s or 0.0,
        cpus=units.count_noun(cpus, "CPU"),
    )
    yield SAYS.finding(
        "cpu-quota",
        severity="warning" if speaks else "notice",
        confidence="measured" if speaks else "rule",
        sentence=quota.quota_sentence,
        cores=f"{around.quota_cores:g}",
        evidence=(meanwhile,) if speaks else (),
        remedy=(remedies.quota_remedy(around.quota_folder),),
        answers=speaks,
    )


def _make_quota(result: CpuResult, around: CpuConditions) -> SessionQuota:
    return SessionQuota(
        cores=around.quota_cores or 0.0,
        cpus=around.cpus or len(result.share),
        reached=around.quota_periods,
        loaded=around.quota_loaded,
    )


def is_held_back_by_quota(result: CpuResult, around: CpuConditions) -> bool:
    if around.quota_cores is None:
        return False
    reached = _make_quota(result, around).throttled_share or 0.0
    return (around.quota_held_s or 0.0) > HELD_SPEAKS * result.seconds or reached > HELD_SPEAKS
