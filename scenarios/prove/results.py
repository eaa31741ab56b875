"""What a run of `prove` records beside its verdicts: a line for each setting, and the screening that came before."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import msgspec

from hostdx.probes import units
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.document import Mono, Part, ReportSection, Table, paragraph_of
from hostdx.scenarios.contract.results.result import Result
from hostdx.scenarios.contract.verdict.verdict import missable_share
from hostdx.scenarios.prove.design import MeasuredPair, ScreenedEffect
from hostdx.scenarios.triage.rules.texts import finding_texts

Outcome: TypeAlias = Literal["helps", "harms", "equal", "undecided"]
SAYS = finding_texts("prove")


class ProvenSetting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the answer. `ratio` is the load with the new value over the load with today's, more is better.

    `stage` is what the outcome rests on: the screening of all settings, or the comparison of this one alone.
    """

    load: str
    metric: str
    setting: str
    old: str
    new: str
    outcome: Outcome
    stage: Literal["screening", "alone"] = "alone"
    ratio: of.Ratio | None = None
    ci95: tuple[of.Edge, of.Edge] | None = None
    smallest_effect: of.Change | None = None
    risk: str = ""
    persistent: str = ""

    @property
    def effect_or_outcome_text(self) -> str:
        """Return `38 % faster`, or the outcome where no effect was shown."""
        if self.outcome in ("helps", "harms") and self.ratio is not None:
            return units.format_effect(self.ratio)
        if self.outcome == "undecided" and (share := missable_share(self)) is not None:
            return f"{self.outcome_text}: {units.missable_difference_text(share)}"
        return self.outcome_text

    @property
    def outcome_text(self) -> str:
        return SAYS.text(f"outcome-{self.outcome}")

    @property
    def interval_text(self) -> str:
        return "" if self.ci95 is None else units.format_interval(*self.ci95, self.ratio)


class Proof(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer: each setting under each load. `finding` is the key of the finding that a remedy
    was tried for, "" for settings that a person named.
    """

    settings: tuple[ProvenSetting, ...]
    finding: str = ""


class ProofResult(Result, frozen=True, tag="prove.settings/1"):
    name: ClassVar[str] = "settings"
    value: Proof

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        return (_settings_table(self.value),)

    @property
    def proofs(self) -> dict[str, str]:
        if not self.value.finding:
            return {}
        effects = "; ".join(
            f"{setting.setting} {setting.new} instead of {setting.old}: {setting.load} {setting.effect_or_outcome_text}"
            for setting in self.value.settings
        )
        return {self.value.finding: effects}

    def section_on_top(self, now: float) -> ReportSection | None:
        return ReportSection("the settings", (_settings_table(self.value),))


def _settings_table(proof: Proof) -> Table:
    header = ("setting", "today", "new", "load", "outcome", "effect", "95 % CI", "measured")
    rows = tuple(
        (
            Mono(setting.setting),
            Mono(setting.old),
            Mono(setting.new),
            setting.load,
            setting.outcome_text,
            setting.effect_or_outcome_text if setting.effect_or_outcome_text != setting.outcome_text else "",
            setting.interval_text,
            setting.stage,
        )
        for setting in proof.settings
    )
    return Table(header, rows, spare=frozenset({6, 7})).without_empty_columns()


class ScreeningRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The design as it was measured, for reckoning the effects again. `pairs` are in the order measured."""

    labels: tuple[str, ...]
    replicates: of.Number
    window_s: of.Duration
    effects: tuple[ScreenedEffect, ...]
    pairs: tuple[MeasuredPair, ...]


class ScreeningResult(Result, frozen=True, tag="prove.screening/1"):
    name: ClassVar[str] = "screening"
    value: ScreeningRecord

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        rows = tuple(
            (
                Mono(effect.label),
                units.format_interval(*effect.ci95, effect.ratio),
                "yes" if effect.is_beyond_chance else "no",
            )
            for effect in self.value.effects
        )
        return (
            Table(("setting", "simultaneous 95 % CI", "tried alone"), rows),
            paragraph_of(
                f"{units.count_noun(self.value.replicates, 'replicate')} of "
                f"{units.count_noun(len(self.value.pairs), 'pair')} of windows; the dummies are settings that do not "
                "exist, and none of them may show an effect"
            ),
        )
