"""CONTRIBUTING, "Five additions, worked", followed literally in a copy of the tree."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COPIED = (
    ".packaging",
    "app",
    "probes",
    "scenarios",
    "tests/contracts.py",
    "tests/scenarios/contract/test_contract.py",
    "pyproject.toml",
)

# "`FILE`:" is a new file; the other two add to one that is there
BLOCK = re.compile(r"^(At the end of |First in `KINDS` of |)`([\w/.-]+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)
ADDITIONS = BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text())
KINDS = "KINDS: tuple[ImportKind, ...] = (\n"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True)  # with what is compiled
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for place, name, text in ADDITIONS:
        file = folder / name
        assert file.exists() == bool(place)
        file.parent.mkdir(exist_ok=True)
        before = file.read_text() if place else ""
        assert not place.startswith("First") or before.count(KINDS) == 1
        file.write_text(
            before.replace(KINDS, KINDS + text)
            if place.startswith("First")
            else f"{before}\n{text}".lstrip("\n")
        )
    return folder


def output(copy: Path, *words: str) -> str:
    state = copy / "state"
    state.mkdir(mode=0o700, exist_ok=True)
    places = {
        "PYTHONPATH": f"{copy / '.packaging/links'}:{copy}",
        "XDG_STATE_HOME": str(state),
        "XDG_RUNTIME_DIR": str(state),
    }
    done = subprocess.run(words, cwd=copy, env=os.environ | places, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


HOSTDX = (sys.executable, "-P", "-m", "hostdx.app.cli")


def test_each_addition_lies_in_one_folder() -> None:
    folders = ["/".join(name.split("/")[:2]) for _, name, _ in ADDITIONS]
    assert list(dict.fromkeys(folders)) == [
        "scenarios/triage", "probes/engine", "probes/imports", "scenarios/nap", "app/features",
    ]  # fmt: skip


def test_the_contracts_hold(copy: Path) -> None:
    output(copy, str(Path(sys.executable).with_name("lint-imports")), "--no-cache")
    output(
        copy, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/scenarios", "-k", "nap"
    )


@pytest.mark.soak("the contracts hold, and its own tests")
def test_all_of_them_are_found(copy: Path) -> None:
    events = [json.loads(line) for line in output(copy, *HOSTDX, "triage", "--events", "-").splitlines()]
    [offer] = [e for e in events if e["type"] == "offer" and e["id"] == "nap"]
    assert offer["card"]["complaint"]["words"] == "timers come late" and not offer.get("blocked")
    (setting := copy / "tree/proc/sys/net/core/busy_poll").parent.mkdir(parents=True)
    setting.write_text("50\n")
    triage = json.loads(output(copy, *HOSTDX, "triage", "--json", "--root", str(copy / "tree")))
    [finding] = [f for f in triage["findings"] if f["id"] == "net.busy-poll"]
    assert finding["remedy"][0]["undo"][0] == "sysctl -w net.core.busy_poll=50"
    plan = json.loads(output(copy, *HOSTDX, "plan", "storage", "--dir", "/var/tmp", "--json"))
    assert "randread-64k-qd4" in {load["id"] for load in plan["workloads"]}
    run = json.loads(output(copy, *HOSTDX, "run", "nap", "--json"))
    assert run["status"] == "done" and abs(run["lateness"]) < 60
    assert output(copy, *HOSTDX, "nap").startswith("late by")
    report = output(copy, *HOSTDX, "report", run["recording"])
    assert "woken" in report
    (copy / "late.txt").write_text("napbench: 1.5 ms late\n")
    imported = json.loads(output(copy, *HOSTDX, "import", "--json", "late.txt"))
    assert "napbench" in json.dumps(imported)
    asked = "from hostdx.app import feature; [s] = [s for s in feature.screens_at('recordings') if s.key == 'A']; "
    output(copy, sys.executable, "-P", "-c", asked + "feature.import_target(s.target)")
