"""The files for batch systems and monitors, run with stand-ins for what they call."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hostdx.app.features.health.check import Answer, HealthCheck, UnfitReason
from hostdx.app.features.health.forms import format_check
from hostdx.app.features.health.metrics import openmetrics_of_session
from hostdx.app.features.health.speed import LoadStanding
from hostdx.app.features.watch.nights import history_of_recordings
from hostdx.app.features.watch.openmetrics import openmetrics_text
from hostdx.app.recordings import store
from hostdx.app.recordings.reader import load_recording
from tests.needs import needs, program
from tests.syntax import ROOT

BATCH = ROOT / "app/features/health/batch"
NODE = "NodeName=n1 Arch=x86_64 State={state} ThreadsPerCore=1 Partitions=p {reason}"


def make_program(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def slurm_calls(tmp_path: Path, state: str, reason: str, status: int) -> list[str]:
    """Return what `scontrol` is asked to change where a check ends with this status."""
    line = NODE.format(state=state, reason=f"Reason={reason} [root@2026-11-29T02:00:00]" if reason else "")
    calls = tmp_path / "calls"
    calls.touch()
    make_program(
        tmp_path / "scontrol", f'case $* in *show*) echo "{line}" ;; *) echo "$*" >> {calls} ;; esac'
    )
    make_program(
        tmp_path / "hostdx",
        f'echo "$*" > {tmp_path}/asked; echo "hostdx: not fit: it is slow"; exit {status}',
    )
    (tmp_path / "conf").write_text(
        f"HOSTDX={tmp_path}/hostdx\nSCONTROL={tmp_path}/scontrol\nNODE=n1\nCLASS='w n'\nDIRECTORY=/scratch\n"
    )
    environment = {"HOSTDX_HEALTH_CONF": str(tmp_path / "conf"), "PATH": os.environ["PATH"]}
    done = subprocess.run([BATCH / "hostdx-slurm-health"], env=environment, timeout=30, check=False)
    assert done.returncode == 0
    return calls.read_text().splitlines()


DRAIN = ["update nodename=n1 state=drain reason=hostdx: not fit: it is slow"]
RESUME = ["update nodename=n1 state=resume"]


@needs(program("timeout", "hostname"))
@pytest.mark.parametrize(
    ("state", "reason", "status", "calls"),
    [
        ("IDLE", "", 0, []),
        ("IDLE", "", 1, DRAIN),
        ("IDLE", "", 3, []),
        ("IDLE", "", 124, []),  # the check was ended by `timeout`
        ("IDLE+DRAIN", "hostdx: not fit: slow", 0, RESUME),
        ("IDLE+DRAIN", "hostdx: not fit: slow", 1, []),
        ("IDLE+DRAIN", "hostdx: not fit: slow", 3, []),
        ("IDLE+DRAIN", "disk ordered, see hostdx: report", 0, []),
        ("IDLE+DRAIN", "", 0, []),
        ("ALLOCATED", "", 1, []),
        ("MIXED+DRAIN", "hostdx: not fit: slow", 0, []),
        ("DOWN+DRAIN", "hostdx: not fit: slow", 0, []),
    ],
)
def test_slurm_resumes_only_what_hostdx_drained(
    tmp_path: Path, state: str, reason: str, status: int, calls: list[str]
) -> None:
    assert slurm_calls(tmp_path, state, reason, status) == calls
    if calls:
        text = (tmp_path / "asked").read_text().strip()
        assert text == "health --format slurm --within 15s --class w n --dir /scratch"


@needs(program("bash", "timeout"))
@pytest.mark.parametrize(("status", "outcome"), [(0, "passed"), (1, "died"), (3, "logged passed")])
def test_nhc(tmp_path: Path, status: int, outcome: str) -> None:
    make_program(tmp_path / "hostdx", f"echo reason; exit {status}")
    stand_ins = "die() { echo died; }; log() { echo logged; }"
    script = f"{stand_ins}; . {BATCH}/hostdx.nhc; check_hostdx wn 15 && echo passed"
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout.split() == outcome.split()


@needs(program("bash", "timeout"))
def test_a_process_name_is_no_command_for_nhc(tmp_path: Path) -> None:
    """NHC 1.4.3 marks a node offline by `eval $OFFLINE_NODE "'$HOSTNAME'" "'$*'"` in its `die`."""
    make_program(tmp_path / "hostdx", f"""echo "x';touch {tmp_path}/run;'"; exit 1""")
    script = f"""die() {{ eval : "'$*'"; }}; . {BATCH}/hostdx.nhc; check_hostdx"""
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-c", script], env=environment, timeout=30, check=False)
    assert not (tmp_path / "run").exists()
    check = HealthCheck(reasons=[UnfitReason("left behind", Answer.NOT_FIT, "x';reboot;'")])
    assert "'" not in format_check(check, "nhc")


@needs(program("timeout"))
@pytest.mark.parametrize(("status", "fit"), [(0, "true"), (1, "false"), (3, "undefined")])
def test_condor(tmp_path: Path, status: int, fit: str) -> None:
    text = (BATCH / "hostdx-condor-cron").read_text().replace("PATH=", f"PATH={tmp_path}:", 1)
    (tmp_path / "cron").write_text(text)
    make_program(tmp_path / "hostdx", f"""printf '%s\\n' 'a "quoted" \\reason'; exit {status}""")
    done = subprocess.run(["sh", tmp_path / "cron"], capture_output=True, text=True, timeout=30, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == f"HostdxFit = {fit}" and lines[-1] == "-"
    assert lines[1].count('"') == 2 and "\\" not in lines[1]


def test_the_dashboard_asks_for_gauges_that_are_written() -> None:
    standing = LoadStanding("cpu-integer", "one", 0.9, 0.8, 12, True)
    health = format_check(HealthCheck(standings=[standing]), "openmetrics")
    report = openmetrics_of_session(load_recording(store.resolve_recording("demo:storage")), "demo:storage")
    nights = history_of_recordings([store.resolve_recording(f"demo:kernel{name}") for name in ("", "-6-1")])
    assert nights is not None
    written = set(
        re.findall(r"^# TYPE (\w+) gauge", health + report + openmetrics_text(nights, "done"), re.MULTILINE)
    )
    assert [*text_string_to_metric_families(openmetrics_text(nights, "done"))]
    written |= {"hostdx_watch_load_ratio", "hostdx_watch_load_cusum"}  # once a baseline is whole
    dashboard = json.loads((BATCH / "grafana-dashboard.json").read_text("utf-8"))
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    gauges = {name for query in queries for name in re.findall(r"hostdx_\w+", query)}
    assert len(gauges) > 6 and gauges <= written
    answers = {answer for query in queries for answer in re.findall(r'answer="([^"]+)"', query)}
    assert answers <= {str(answer) for answer in Answer}
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
