"""Scenario `prove`: does another value of a setting help on this host, under this load? Switched, judged, put back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.model import OptionMap, PreparedRun, Run, Scenario
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch, watch_for
from hostdx.scenarios.experiment.load_schedule import MeasuredLoad, measure_workload
from hostdx.scenarios.experiment.schedule.switch import SwitchedLoad
from hostdx.scenarios.prove.findings import (
    control_finding,
    dummy_finding,
    find_doubts,
    mixed_finding,
    proven_alone,
    proven_by_screening,
    setting_finding,
)
from hostdx.scenarios.prove.loads import LOADS, ProofLoad, check_reach, open_load
from hostdx.scenarios.prove.plan import make_plan
from hostdx.scenarios.prove.request import (
    AGAIN,
    SCREENING_SHARE,
    TODAY,
    ProofRequest,
    ProofVariant,
    parse_request,
)
from hostdx.scenarios.prove.results import Proof, ProofResult, ProvenSetting, ScreeningRecord, ScreeningResult
from hostdx.scenarios.prove.screening import SCREENING, ProofBench, Screening, SettingsSwitch
from hostdx.scenarios.prove.settling import measure_whether_setting_acts_slowly


@apply_declaration(__file__, loads=", ".join(LOADS))
class Prove(Scenario):
    """Settings of a finding, or those that a person named."""

    def blocking_reason(self, host: Host) -> str:
        return "" if host.live else "a captured tree has no setting to switch"

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        request = parse_request(host, options)
        disks = frozenset(setting.disk for setting in request.settings if setting.disk)
        for load in request.loads:
            check_reach(load, disks)
        return PreparedRun(make_plan(host, request, options, self.make_plan), partial(self._run, request))

    async def _run(self, request: ProofRequest, run: Run) -> None:
        lines: list[ProvenSetting] = []
        for load in request.loads:
            lines += await _screen_and_compare_settings(run, request, load)
        for variant in request.variants[1:-1]:
            name = variant.setting_names
            if (finding := mixed_finding([line for line in lines if line.setting == name])) is not None:
                run.emit_finding(finding)
        proof = Proof(settings=tuple(lines), finding=run.options.as_string("finding"))
        run.emit(ProofResult(t=run.elapsed_s(), value=proof))


async def _screen_and_compare_settings(
    run: Run, request: ProofRequest, proof_load: ProofLoad
) -> list[ProvenSetting]:
    """Try all settings under one load. Emits its findings and returns its lines of the answer."""
    watch = None if proof_load.source == "job" else watch_for(run, proof_load.leaves)
    async with open_load(run, proof_load) as load, SettingsSwitch(run, request.settings) as switch:
        record = await _screen_and_emit(run, request, switch, load, watch) if request.is_screened else None
        dummy = dummy_finding(record) if record is not None else None
        variants = _variants_to_compare(request, record)
        measured, unsettled = await _compare_variants(run, request, proof_load, variants, switch, load, watch)
    with run.begin_step("restore", "put every setting back"):
        switch.check()
    control = control_finding(next((v for v in measured.verdicts if v.variant == AGAIN), None))
    for finding in filter(None, (dummy, control)):
        run.emit_finding(finding)
    doubts = find_doubts(measured, proof_load, run.effect_margin, unsettled)
    trusted = TrustedStages(alone=control is None, screened=control is None and dummy is None)
    return _emit_and_get_settings(run, request, proof_load, record, measured.verdicts, doubts, trusted)


class TrustedStages(NamedTuple):
    """Which of the two stages may give outcomes. A dummy takes them from the screening alone."""

    alone: bool
    screened: bool


async def _screen_and_emit(
    run: Run,
    request: ProofRequest,
    switch: SettingsSwitch,
    load: SwitchedLoad,
    watch: InterferenceWatch | None,
) -> ScreeningRecord:
    bench = ProofBench(TODAY, (), switch, load)
    with run.begin_step(SCREENING, "all settings at once"):
        screening = Screening(run, request.loads[0].workload, request.settings, bench, watch)
        record = await screening.measure(request.budget_s * SCREENING_SHARE)
        run.emit(ScreeningResult(t=run.elapsed_s(), value=record))
    return record


def _variants_to_compare(request: ProofRequest, record: ScreeningRecord | None) -> Sequence[ProofVariant]:
    """Return the variants with their controls: of a screening those with an effect; none where no setting had one."""
    if record is None:
        return request.variants
    called = {effect.label for effect in record.effects if effect.is_beyond_chance}
    tried = [variant for variant in request.variants if variant.labels & called]
    return (request.variants[0], *tried, request.variants[-1]) if tried else ()


async def _compare_variants(
    run: Run,
    request: ProofRequest,
    proof_load: ProofLoad,
    variants: Sequence[ProofVariant],
    switch: SettingsSwitch,
    load: SwitchedLoad,
    watch: InterferenceWatch | None,
) -> tuple[MeasuredLoad, set[str]]:
    """Return what was measured, and the variants without a difference that may have one later."""
    with run.begin_step(proof_load.workload.id, proof_load.workload.title) as step:
        if not variants:
            step.skip_step("the screening left no setting to be tried alone")
            return MeasuredLoad([], []), set()
        switch.settling.begin_comparison(request.comparing_s)
        benches = [ProofBench(variant.id, variant.labels, switch, load) for variant in variants]
        until = run.clock.now() + request.comparing_s
        measured = await measure_workload(
            run,
            proof_load.workload,
            benches,
            budget_s=request.comparing_s,
            family=(len(benches) - 1) * len(request.loads),
            watch=watch,
            longer_settle=switch.settling.grow,
        )
        equal = {verdict.variant for verdict in measured.verdicts if verdict.is_equal}
        if switch.settling.shows:
            return measured, equal
        return measured, {
            bench.variant
            for bench in benches[1:-1]
            if bench.variant in equal
            and await measure_whether_setting_acts_slowly(run, bench, benches[0], until, measured.blocks)
        }


def _emit_and_get_settings(
    run: Run,
    request: ProofRequest,
    load: ProofLoad,
    record: ScreeningRecord | None,
    verdicts: Sequence[ev.RunVerdict],
    doubts: Mapping[str, str],
    trusted: TrustedStages,
) -> list[ProvenSetting]:
    by_variant = {verdict.variant: verdict for verdict in verdicts}
    effects = {effect.label: effect for effect in record.effects} if record is not None else {}
    lines: list[ProvenSetting] = []
    for variant in request.variants[1:-1]:
        verdict = by_variant.get(variant.id)
        if verdict is not None:
            is_trusted = trusted.alone and variant.id not in doubts
            line = proven_alone(load, variant, verdict, trusted=is_trusted)
        else:
            [setting] = variant.settings
            effect = effects[setting.label]
            line = proven_by_screening(load, setting, effect, run.effect_margin, trusted=trusted.screened)
        lines.append(line)
        doubt = doubts.get(variant.id, "")
        run.emit_finding(setting_finding(run.host, line, variant.settings, verdict, request.budget_s, doubt))
    return lines
