"""Scenarios as subcommands of `run` and `plan`, with the options that each declares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from app.failure import USAGE, Failure
from app.options import chosen, declared, parameters
from app.state import state_dir
from probes.types import Json
from scenarios import registry
from scenarios.model import Scenario

# called with the scenario, the chosen options and the values of `extra`
Action = Callable[..., int]


class Scenarios(click.Group):
    """`extra` are the parameters that every scenario's command has beside its own."""

    def __init__(
        self, *, action: Action, extra: Callable[[], Sequence[click.Parameter]], **attributes: Any
    ) -> None:
        super().__init__(no_args_is_help=False, subcommand_metavar="SCENARIO [OPTIONS]", **attributes)
        self._action = action
        self._extra = extra

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in registry.names() if available(name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        try:
            scenario = registry.load(cmd_name)
        except KeyError:
            return None
        except Exception as error:  # a third party's module: whatever it raises
            text = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise Failure(f"{self.name} {cmd_name}: the scenario cannot be loaded: {text}") from None
        return self._command(cmd_name, scenario)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise Failure(f"{self.name}: {name}: unknown scenario; `hostdx scenarios` lists them", USAGE)
        return super().resolve_command(ctx, args)

    def _command(self, name: str, scenario: Scenario) -> click.Command:
        options = declared(scenario)

        def callback(**values: Any) -> int:
            own: dict[str, Json] = chosen(options, values)
            if any(option.name == "state" and option.hidden for option in options):
                own.setdefault("state", str(state_dir()))  # a scenario that remembers earlier runs
            rest = {key: value for key, value in values.items() if not key.startswith("opt_")}
            return self._action(scenario, options, own, **rest)

        return click.Command(
            name,
            callback=callback,
            params=[*parameters(options), *self._extra()],
            help=f"{scenario.question} {scenario.why}",
            short_help=scenario.question,
        )


def available(name: str) -> bool:
    """Whether it can be loaded; one that cannot is not offered."""
    try:
        registry.load(name)
    except Exception:
        return False
    return True
