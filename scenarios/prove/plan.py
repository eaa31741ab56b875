"""What a proof would do, as it is shown and agreed to: each setting's values, the order, the time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from hostdx.probes import units
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.model import OptionMap, make_directory_action
from hostdx.scenarios.contract.plan import Plan, PlannedStep, PlannedWrite, Variant, Workload
from hostdx.scenarios.prove.design import design_rows
from hostdx.scenarios.prove.loads import ProofLoad
from hostdx.scenarios.prove.request import SCREENING_SHARE, TODAY, ProofRequest, ProofVariant
from hostdx.scenarios.prove.screening import SCREENING

FILL_RATE = 200e6  # bytes a second that a disk takes at least, for the time that is foreseen


def make_plan(host: Host, request: ProofRequest, options: OptionMap, planned: Callable[..., Plan]) -> Plan:
    """Return the plan. A captured tree or missing rights are its refusal."""
    writing = [load for load in request.loads if load.size_bytes]
    prepare_s = sum(load.size_bytes for load in writing) / FILL_RATE
    workloads: list[Workload] = [load.workload for load in request.loads]
    steps = [PlannedStep("prepare", "write the test file", prepare_s)] if writing else []
    if request.is_screened:
        workloads.insert(0, replace(workloads[0], id=SCREENING, title="all settings at once", controls=()))
        steps.append(PlannedStep(SCREENING, "all settings at once", request.budget_s * SCREENING_SHARE))
    steps += [PlannedStep(w.id, w.title, request.comparing_s) for w in workloads if w.id != SCREENING]
    steps.append(PlannedStep("restore", "put every setting back", 1.0))
    directories = dict.fromkeys(load.directory for load in request.loads if load.directory and not load.file)
    refusal = next((load.refusal for load in request.loads if load.refusal), "")
    return planned(
        options=dict(options.values),
        variants=tuple(_describe_variant(variant, request) for variant in request.variants),
        workloads=tuple(workloads),
        steps=tuple(steps),
        actions=(
            *(make_directory_action(host, directory) for directory in directories),
            *(action for setting in request.settings for action in setting.actions),
        ),
        writes=tuple(_planned_test_files(writing)),
        differs=tuple(_set_along_texts(request)),
        rights=("root",),
        seconds=request.budget_s + prepare_s + 2.0,
        measuring_s=request.budget_s,
        commands=tuple(load.command for load in request.loads if load.command),
        sentences=tuple(_list_sentences(request)),
        refusal=refusal or ("" if os.geteuid() == 0 else "switching settings needs root: run it with sudo"),
    )


def _planned_test_files(loads: Sequence[ProofLoad]) -> Iterator[PlannedWrite]:
    """Yield the bytes of the test files, by disk."""
    for leaf in dict.fromkeys(leaf for load in loads for leaf in load.leaves):
        own = [load for load in loads if leaf in load.leaves]
        yield PlannedWrite(leaf, sum(load.size_bytes for load in own), own[0].directory)


def _set_along_texts(request: ProofRequest) -> Iterator[str]:
    """Yield what the kernel sets along with a setting, and what is therefore compared with it."""
    for setting in request.settings:
        for pattern in dict.fromkeys(pattern for action in setting.actions for pattern in action.side_paths):
            yield f"{pattern}: the kernel sets it along with {setting.name}; it is put back too"


def _describe_variant(variant: ProofVariant, request: ProofRequest) -> Variant:
    if variant.settings:
        facts = {setting.label: setting.new for setting in variant.settings}
        label = ", ".join(f"{setting.name}={setting.new}" for setting in variant.settings)
        return Variant(id=variant.id, label=label, facts=facts)
    detail = "as it is set" if variant.id == TODAY else "today's value once more: it must not differ"
    facts = {setting.label: setting.old for setting in request.settings}
    return Variant(id=variant.id, label=variant.id, detail=detail, facts=facts)


def _list_sentences(request: ProofRequest) -> Iterator[str]:
    for setting in request.settings:
        settle = f", {units.format_duration(setting.settle_s)} to settle" if setting.settle_s else ""
        yield (
            f"{setting.label}: {setting.old or 'nothing'} is switched to {setting.new} and back "
            f"(scope: {setting.scope}; affects {setting.risk}{settle})"
        )
        if setting.loses:
            yield f"{setting.label}: each switch, there and back, may lose {setting.loses}"
    if request.is_screened:
        rows = len(design_rows(len(request.settings)))
        yield (
            f"first all settings at once: {rows} rows, each beside its mirror image, in a drawn order, at least twice; "
            "two dummy settings must show no effect"
        )
        yield "then the settings that showed an effect are tried alone, in groups whose order is drawn"
    else:
        yield "today's and the new value alternate in groups whose order is drawn; today's value is measured twice"
    yield "a setting without a difference is then held at each value for some seconds that are left: it may act slowly"
    if request.loads[0].source == "job":
        yield "the job that runs is only watched; its own ups and downs widen the interval"
