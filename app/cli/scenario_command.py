"""Scenarios as subcommands of `run` and `plan`, with the options that each declares."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import click

from hostdx.app.cli.commands import MIN_SIMILARITY
from hostdx.app.cli.options import declared_options, make_parameters, take_chosen_options
from hostdx.app.state import state_dir
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.probes.types import Json
from hostdx.scenarios.contract import registry
from hostdx.scenarios.contract.model import Scenario

# called with the scenario, the chosen options and the values of `extra`
Action = Callable[..., int]


class ScenarioGroup(click.Group):
    """`extra` are the parameters that every scenario's command has beside its own."""

    def __init__(
        self, *, action: Action, extra: Callable[[], Sequence[click.Parameter]], **attributes: Any
    ) -> None:
        super().__init__(no_args_is_help=False, subcommand_metavar="SCENARIO [OPTIONS]", **attributes)
        self._action = action
        self._extra = extra

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [scenario.id for scenario in sorted(load_scenarios(), key=registry.offer_sort_key)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        scenario = find_scenario(str(self.name), cmd_name)
        return None if scenario is None else self._make_command(cmd_name, scenario)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            names = ", ".join(self.list_commands(ctx))
            raise Failure(
                f"{self.name}: name a scenario: {names}; `hostdx scenarios` says what each answers", USAGE
            )
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise unknown_scenario_failure(str(self.name), name)
        return super().resolve_command(ctx, args)

    def _make_command(self, name: str, scenario: Scenario) -> click.Command:
        options = declared_options(scenario)

        def callback(**values: Any) -> int:
            own: dict[str, Json] = take_chosen_options(options, values)
            if scenario.remembers:
                own.setdefault("state", str(state_dir()))
            rest = {key: value for key, value in values.items() if not key.startswith("opt_")}
            return self._action(scenario, options, own, **rest)

        return click.Command(
            name,
            callback=callback,
            params=[*make_parameters(options), *_hide_consent(scenario, self._extra())],
            help=f"{scenario.question} {scenario.why}",
            short_help=scenario.question,
        )


def _hide_consent(scenario: Scenario, parameters: Sequence[click.Parameter]) -> Sequence[click.Parameter]:
    """One that only watches changes nothing, so there is nothing to agree to: taken, but not offered."""
    for parameter in parameters:
        if (
            not scenario.measures
            and parameter.name in ("yes", "consent")
            and isinstance(parameter, click.Option)
        ):
            parameter.hidden = True
    return parameters


def load_scenarios() -> Iterator[Scenario]:
    """Those that can be loaded; one that cannot is not offered."""
    for name in registry.scenario_names():
        try:
            yield registry.load_scenario(name)
        except Exception:
            continue


def find_scenario(command: str, name: str) -> Scenario | None:
    """The scenario of that id, None for an unknown one. Raises Failure where it cannot be loaded."""
    try:
        return registry.load_scenario(name)
    except KeyError:
        return None
    except Exception as error:  # a third party's module: whatever it raises
        text = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise Failure(f"{command} {name}: the scenario cannot be loaded: {text}") from None


def unknown_scenario_failure(command: str, name: str) -> Failure:
    """Return what was meant, or where the names are."""
    near = get_close_matches(name, registry.scenario_names(), n=1, cutoff=MIN_SIMILARITY)
    if near:
        instead = f"did you mean `{near[0]}`?"
    elif "/" in name:
        instead = f"the scenario comes first: `hostdx {command} storage {shlex.quote(name)}`"
    else:
        instead = "`hostdx scenarios` lists them"
    return Failure(f"{command}: {name}: unknown scenario; {instead}", USAGE)
