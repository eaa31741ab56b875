"""What a proof would do, as it is shown and agreed to: each setting's values, the order, the time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from probes import units
from probes.reading.host import Host
from scenarios.contract.model import Options, directory_action
from scenarios.contract.plan import Plan, PlannedStep, Variant, Workload, Written
from scenarios.prove.design import design_rows
from scenarios.prove.request import SCREENING_SHARE, TODAY, ProofRequest, ProofVariant
from scenarios.prove.screening import SCREENING

FILL_RATE = 200e6  # bytes a second that a disk takes at least, for the time that is foreseen


def make_plan(host: Host, request: ProofRequest, options: Options, planned: Callable[..., Plan]) -> Plan:
    """Return the plan. A captured tree or missing rights are its refusal."""
    load = request.load
    prepare_s = load.size_bytes / FILL_RATE
    writes = load.directory and not load.file and not load.command
    workloads: list[Workload] = [load.workload]
    steps = [PlannedStep("prepare", "write the test file", prepare_s)] if writes else []
    if request.is_screened:
        workloads.insert(0, replace(load.workload, id=SCREENING, title="all settings at once", controls=()))
        steps.append(PlannedStep(SCREENING, "all settings at once", request.budget_s * SCREENING_SHARE))
    share = 1 - SCREENING_SHARE if request.is_screened else 1.0
    steps.append(PlannedStep("measure", "measure and judge", request.budget_s * share))
    steps.append(PlannedStep("restore", "put every setting back", 1.0))
    makes_directory = load.directory and not load.file
    return planned(
        options=dict(options.values),
        variants=tuple(_describe_variant(variant, request) for variant in request.variants),
        workloads=tuple(workloads),
        steps=tuple(steps),
        actions=(
            *((directory_action(host, load.directory),) if makes_directory else ()),
            *(action for setting in request.settings for action in setting.actions),
        ),
        writes=tuple(Written(leaf, load.size_bytes, load.directory) for leaf in load.leaves)
        if writes
        else (),
        differs=tuple(_list_set_along(request)),
        rights=("root",),
        seconds=request.budget_s + prepare_s + 2.0,
        measuring_s=request.budget_s,
        commands=(load.command,) if load.command else (),
        sentences=tuple(_list_sentences(request)),
        refusal=load.refusal
        or ("" if os.geteuid() == 0 else "switching settings needs root: run it with sudo"),
    )


def _list_set_along(request: ProofRequest) -> Iterator[str]:
    """Yield what the kernel sets along with a setting, and what is therefore compared with it."""
    for setting in request.settings:
        for pattern in dict.fromkeys(pattern for action in setting.actions for pattern in action.side_paths):
            yield f"{pattern}: the kernel sets it along with {setting.name}; it is put back too"


def _describe_variant(variant: ProofVariant, request: ProofRequest) -> Variant:
    if variant.settings:
        facts = {setting.label: setting.new for setting in variant.settings}
        label = ", ".join(f"{setting.name}={setting.new}" for setting in variant.settings)
        return Variant(id=variant.id, label=label, facts=facts)
    detail = "as it is set" if variant.id == TODAY else "the same once more: it must not differ"
    facts = {setting.label: setting.old for setting in request.settings}
    return Variant(id=variant.id, label=variant.id, detail=detail, facts=facts)


def _list_sentences(request: ProofRequest) -> Iterator[str]:
    for setting in request.settings:
        settle = f", {units.format_duration(setting.settle_s)} to settle" if setting.settle_s else ""
        yield (
            f"{setting.label}: {setting.old or 'nothing'} is switched to {setting.new} and back "
            f"(scope: {setting.scope}; affects {setting.risk}{settle})"
        )
    if request.is_screened:
        rows = len(design_rows(len(request.settings)))
        yield (
            f"first all settings at once: {rows} rows, each beside its mirror image, in a drawn order, at least twice; "
            "two dummy settings must show no effect"
        )
        yield "then the settings that showed an effect are tried alone, in groups whose order is drawn"
    else:
        yield "today's and the new value alternate in groups whose order is drawn; today's value is measured twice"
    if request.load.source == "job":
        yield "the job that runs is only watched; its own ups and downs widen the interval"
