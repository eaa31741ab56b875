"""Commands, their options and the keys of the screens stay as they are; a new one is a line more."""

from importlib import import_module
from pkgutil import walk_packages

import click
import pytest
from textual.binding import Binding
from textual.dom import DOMNode

from hostdx.app import features, tui
from hostdx.app.cli.commands import hostdx
from hostdx.probes.reading import other_package
from hostdx.probes.types import Json
from hostdx.scenarios.contract import registry
from tests.contract.frozen import assert_frozen

STARTED = (
    "hostdx.app.features.bundle.stub",
    "hostdx.app.features.fleet.launch.agent",
)  # programs, not modules


def describe_parameter(parameter: click.Parameter) -> dict[str, Json]:
    kind = parameter.type
    described: dict[str, Json] = {
        "names": [*parameter.opts, *parameter.secondary_opts],
        "type": kind.name,
        "required": parameter.required,
        "multiple": parameter.multiple,
        "nargs": parameter.nargs,
    }
    if isinstance(kind, click.Choice):
        described["choices"] = [str(choice) for choice in kind.choices]
    if isinstance(parameter, click.Option):
        described["flag"] = parameter.is_flag
        described["hidden"] = parameter.hidden
    return described


def describe_commands(
    command: click.Command, path: str, parent: click.Context | None = None
) -> dict[str, Json]:
    """Return every command below `command`, by what a person types, with its parameters but `--help`.

    click keeps the help option as whoever asked first wanted it; that it works is an exit status (test_documents).
    """
    context = click.Context(command, info_name=path, parent=parent, **command.context_settings)
    described: dict[str, Json] = {
        path: [
            describe_parameter(param) for param in command.get_params(context) if "--help" not in param.opts
        ]
    }
    if isinstance(command, click.Group):
        for name in sorted(command.list_commands(context)):
            child = command.get_command(context, name)
            assert child is not None
            described |= describe_commands(child, f"{path} {name}", context)
    return described


def test_commands_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_package, "entry_points_of", lambda group: ())  # of this tree alone
    assert_frozen("commands", describe_commands(hostdx, "hostdx"))


def test_options_of_scenarios() -> None:
    options: dict[str, Json] = {
        scenario.id: [
            {
                "name": option.name,
                "kind": option.kind,
                "multiple": option.multiple,
                "choices": list(option.choices),
                "default": str(option.default),
            }
            for option in scenario.options
        ]
        for scenario in (registry.load_scenario(name) for name in sorted(registry.scenario_names()))
    }
    assert_frozen("scenario-options", options)


def test_keys() -> None:
    """A list for each screen, for the app and for each part of a screen with keys of its own; how a class is called is
    no promise."""
    for package in (tui, features):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if module.name not in STARTED:
                import_module(module.name)
    classes, keys = [DOMNode], dict[str, Json]()
    while classes:
        kind = classes.pop()
        classes += kind.__subclasses__()
        if kind.__module__.startswith(("hostdx.app.tui", "hostdx.app.features")) and (
            declared := kind.__dict__.get("BINDINGS")
        ):
            bindings = [b if isinstance(b, Binding) else Binding(*b) for b in declared]
            keys[kind.__name__] = sorted(b.key for b in bindings)
    assert {"Shell", "HomeScreen"} & keys.keys(), "the screens were not found"
    assert_frozen("keys", sorted(keys.values(), key=str))
