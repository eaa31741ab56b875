"""Contracts of import-linter whose modules are read off the tree: a new scenario is a new folder and edits no list."""

from pathlib import Path
from typing import Any

from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract

ROOT = Path(__file__).parents[1]
EACH = "{scenario}"
EACH_FEATURE = "{feature}"


def scenarios() -> list[str]:
    return sorted(path.parent.name for path in (ROOT / "scenarios").glob("*/scenario.py"))


def features() -> list[str]:
    return sorted(path.parent.name for path in (ROOT / "app" / "features").glob("*/__init__.py"))


class FolderLayers(LayersContract):
    """As a layer `{scenario}` stands for every scenario's folder, `{feature}` for every feature's that none names."""

    def __init__(self, name: str, session_options: dict[str, Any], contract_options: dict[str, Any]) -> None:
        named = set(contract_options["layers"])
        folders = {
            EACH: " | ".join(scenarios()),
            EACH_FEATURE: " | ".join(name for name in features() if name not in named),
        }
        layers = [folders.get(layer, layer) for layer in contract_options["layers"]]
        super().__init__(name, session_options, contract_options | {"layers": layers})


class IndependentScenarios(IndependenceContract):
    """`{scenario}` in a module stands for each scenario's folder."""

    def __init__(self, name: str, session_options: dict[str, Any], contract_options: dict[str, Any]) -> None:
        modules = [m.replace(EACH, one) for m in contract_options["modules"] for one in scenarios()]
        super().__init__(name, session_options, contract_options | {"modules": list(dict.fromkeys(modules))})
