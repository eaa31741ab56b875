"""Where the features of this package lie: folders of `scenarios`, and folders of its rooms `triage` and `analysis`."""

from pathlib import Path

SCENARIOS = Path(__file__).parents[1]


def scenario_files_named(file: str) -> list[Path]:
    """Return every file of that name (a glob pattern) in a feature's folder, in the order of the folders' names."""
    paths = (*SCENARIOS.glob(f"*/{file}"), *SCENARIOS.glob(f"*/*/{file}"))
    return sorted(paths, key=lambda path: (path.parent.name, path.name))


def scenario_packages_with(file: str) -> tuple[str, ...]:
    """Return the packages that hold a file of that name.

    For example `hostdx.scenarios.storage` and `hostdx.scenarios.triage.host`.
    """
    folders = (path.parent.relative_to(SCENARIOS.parents[1]) for path in scenario_files_named(file))
    return tuple(".".join(folder.parts) for folder in folders)
