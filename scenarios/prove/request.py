"""What a run of `prove` is asked for: the variants, the load, and how the budget is shared out. Changes nothing."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.model import OptionMap, UsageError
from hostdx.scenarios.prove.design import MAX_SETTINGS
from hostdx.scenarios.prove.kinds import MAY_LOSE, ProvableSetting, parse_settings
from hostdx.scenarios.prove.loads import ProofLoad, choose_loads

TODAY, NEW, AGAIN = "today", "new", "again"
SCREENED_FROM = 4  # fewer settings are tried alone at once: that takes less time than a design
BUDGET_S, SCREENING_BUDGET_S = 90.0, 300.0
SCREENING_SHARE = 0.5  # of the budget
JOB_SETTLE_S = 0.5  # what a job opened before a switch keeps the old value until it is closed


class ProofVariant(msgspec.Struct, frozen=True):
    """One variant: the settings that have their new value in it. TODAY and AGAIN have none."""

    id: str
    settings: tuple[ProvableSetting, ...] = ()

    @property
    def setting_names(self) -> str:
        """Return the labels as the answer shows them."""
        return ", ".join(setting.label for setting in self.settings)

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(setting.label for setting in self.settings)


class ProofRequest(msgspec.Struct, frozen=True, kw_only=True):
    settings: tuple[ProvableSetting, ...]
    variants: tuple[ProofVariant, ...]
    loads: tuple[ProofLoad, ...]
    budget_s: float
    is_screened: bool

    @property
    def comparing_s(self) -> float:
        """Return the seconds in which the variants are compared under one load."""
        return self.budget_s * (1 - SCREENING_SHARE if self.is_screened else 1.0) / len(self.loads)


def parse_request(host: Host, options: OptionMap) -> ProofRequest:
    """Return the request. Raises UsageError in one line."""
    texts = options.as_strings("setting")
    if not texts:
        raise UsageError(
            "name a setting and its other value: --setting block:sdb/read_ahead_kb=4096, or a finding of triage: "
            "`hostdx prove FINDING`"
        )
    settings = parse_settings(host, texts, may_lose=options.is_set(MAY_LOSE))
    loads = choose_loads(host, options, (AGAIN,), settings)
    least_s = max(options.as_number("settle", 0.0), JOB_SETTLE_S if loads[0].source == "job" else 0.0)
    settings = tuple(replace(setting, settle_s=max(setting.settle_s, least_s)) for setting in settings)
    as_one = options.is_set("as-one") or len(settings) == 1
    tried = [ProofVariant(NEW, settings)] if as_one else [ProofVariant(s.label, (s,)) for s in settings]
    is_screened = not as_one and len(settings) >= SCREENED_FROM
    if is_screened and len(loads) > 1:
        raise UsageError(f"{SCREENED_FROM} settings and more are screened under one load: name one --load")
    if is_screened and len(settings) > MAX_SETTINGS:
        raise UsageError(
            f"{len(settings)} settings are too many: at most {MAX_SETTINGS} can be screened in one run"
        )
    return ProofRequest(
        settings=settings,
        variants=(ProofVariant(TODAY), *tried, ProofVariant(AGAIN)),
        loads=loads,
        budget_s=options.as_number("budget")
        or (SCREENING_BUDGET_S if is_screened else BUDGET_S * len(loads)),
        is_screened=is_screened,
    )
