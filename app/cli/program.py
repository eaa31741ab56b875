"""The console script's module, in the wheel as `hostdx_program`: `app` is a short name, which others have too."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

# name -> a file that only ours has
OURS = {"app": "cli/telling/triage.py", "probes": "children/start.py", "scenarios": "contract/registry.py"}


def main() -> None:
    for name, file in OURS.items():
        spec = find_spec(name)
        places = list(spec.submodule_search_locations or ()) if spec is not None else []
        if not any(os.path.exists(f"{place}/{file}") for place in places):  # noqa: PTH110 (before anything is there)
            first = places[0] if places else spec.origin if spec is not None else "nothing"
            sys.stderr.write(
                f"hostdx: Python finds {first} as the package {name!r}, which is not hostdx's: "
                "unset PYTHONPATH, or install hostdx by itself (pipx install, uv tool install)\n"
            )
            sys.exit(3)
    from app.cli import main as started

    started()
