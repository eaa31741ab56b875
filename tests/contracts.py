"""Contracts of import-linter whose modules are read off the tree: a new scenario is a new folder and edits no list."""

from pathlib import Path
from typing import Any

from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract

ROOT = Path(__file__).parents[1]
EACH = "{scenario}"
EACH_FEATURE = "{feature}"


def scenario_names() -> list[str]:
    return sorted(path.parent.name for path in (ROOT / "scenarios").glob("*/scenario.py"))


def feature_names() -> list[str]:
    return sorted(path.parent.name for path in (ROOT / "app" / "features").glob("*/__init__.py"))


class FolderLayers(LayersContract):
    """As a layer `{scenario}` stands for every scenario's folder, `{feature}` for every feature's that none names."""

    def __init__(self, name: str, session_options: dict[str, Any], contract_options: dict[str, Any]) -> None:
        named_layers = set(contract_options["layers"])
        folders = {
            EACH: " | ".join(scenario_names()),
            EACH_FEATURE: " | ".join(name for name in feature_names() if name not in named_layers),
        }
        layers = [folders.get(layer, layer) for layer in contract_options["layers"]]
        super().__init__(name, session_options, contract_options | {"layers": layers})


class IndependentScenarios(IndependenceContract):
    """`{scenario}` in a module stands for each scenario's folder."""

    def __init__(self, name: str, session_options: dict[str, Any], contract_options: dict[str, Any]) -> None:
        modules = [m.replace(EACH, name) for m in contract_options["modules"] for name in scenario_names()]
        super().__init__(name, session_options, contract_options | {"modules": list(dict.fromkeys(modules))})
