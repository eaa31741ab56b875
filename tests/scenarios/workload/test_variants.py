"""Variants of a command, the plan and the settings."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.secrecy.secrets import short_hash
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import AppliedChange, OptionMap, RunRefused, UsageError
from hostdx.scenarios.contract.registry import load_scenario
from hostdx.scenarios.experiment.schedule.host_settings import HostSettingsSwitch, read_setting
from hostdx.scenarios.experiment.schedule.switch import attribute_change
from hostdx.scenarios.workload.group import ScoreReader
from hostdx.scenarios.workload.request import parse_request
from hostdx.scenarios.workload.variants import parse_variant
from tests.every_case import every_case
from tests.fakes import FakeRun

CPU = min(os.sched_getaffinity(0))


def test_all_words_of_a_variant(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    text = f"a: TMPDIR=/data env=small=1 cwd=sub cmd='echo x' wrap='env -u B' cpus={CPU} nice=5 ionice=best-effort:7"
    variant = parse_variant(text, "true", str(tmp_path))
    assert variant.env == {"TMPDIR": "/data", "small": "1"} and variant.cwd == str(tmp_path / "sub")
    assert variant.argv == ("env", "-u", "B", "echo", "x")
    assert (variant.cpus, variant.nice, variant.ionice) == ((CPU,), 5, (2, 7))
    assert "PATH" not in variant.own and variant.own["TMPDIR"] == "/data"
    order = variant.make_order(("true",), at_most_s=1.0)
    assert order.env["TMPDIR"] == "/data" and not order.cpus and not order.nice


@every_case(
    "text",
    [
        "no colon",
        ": X=1",
        "a b: X=1",
        "a: word",
        "a: nic=5",
        "a: nice=5 nice=6",
        "a: nice=20",
        "a: nice=x",
        "a: cpus=9999",
        "a: cpus=3-1",
        "a: cpus=",
        "a: node=999",
        "a: node=../x",
        "a: ionice=idle:3",
        "a: ionice=best-effort:8",
        "a: ionice=fast",
        "a: cwd=/nonexistent/x",
        "a: cmd=/nonexistent/x",
        "a: cmd='true | cat'",
        "a: cmd='unclosed",
        "a: cmd=''",
        "a: env=X",
        "a: memory.max=2X",
        "a: cpu.max=50",
        "a: cpu.weight=0",
        "a: io.max=sda",
        "a: io.max=nosuch,rbps=1M",
        "a: pids.max=-1",
        "a: sysctl:vm.nosuch=10",
        "a: sysctl:../../etc/passwd=10",
        "a: sysctl:vm.swappiness=",
        "a: sysctl:vm.swappiness=1 sysctl:vm.swappiness=2",
        "a: sysfs:/etc/passwd=1",
        "a: sysfs:/sys/../etc/passwd=1",
        "a: scheduler:nosuch=none",
        "a: scheduler:../sda=none",
        "a: 1X=2",
        "a: X=1 X=2",
        "a: wrap='env X=\0'",
    ],
)
def test_a_bad_variant_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_variant(text, "true", "/")
    assert str(error.value) and "\n" not in str(error.value)


def test_a_file_says_the_same_as_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(
        'cmd = "true"\ncwd = "/"\nat-most = 5\n'
        '[[variant]]\nname = "a"\nTMPDIR = "/x"\n[[variant]]\nname = "b"\nnice = 3\n'
    )
    from_file = parse_request(OptionMap({"file": str(file)}), "/tmp")
    from_words = parse_request(
        OptionMap({"cmd": "true", "cwd": "/", "at-most": 5.0, "variant": ["a: TMPDIR=/x", "b: nice=3"]}),
        "/tmp",
    )
    assert from_file == from_words and from_words.variant_pairs == [("a", "b")]
    with pytest.raises(UsageError, match="give it once"):
        parse_request(OptionMap({"file": str(file), "cmd": "true"}), "/tmp")


@every_case(
    "text",
    [
        "x =",
        'what = 1\ncmd = "true"',
        "cmd = 3",
        "series = 2",
        "[[variant]]\nname = 'a'\ncpus = [1]",
        "\0",
        "variant = ['a:', 'b:']\ncmd = 'true'\nmost-bytes = '10Q'",
        "variant = ['a:', 'b:']\ncmd = 'true'\nmost-bytes = -1",
        "variant = ['a:', 'b:']\ncmd = 'true'\ncold = [1]",
        "variant = ['a:', 'b:']\ncmd = 'true'\nat-most = nan",
        "variant = [1, [2]]\ncmd = 'true'",
        "variant = ['a:']\ncmd = 'true'\n[[variant]]\nname = 'b'",
        "cmd = 'true'\n[[variant]]\nname = 'a'\n[[variant]]\nname = 'b'\n[variant.env]\n'A=B' = 'x'",
        "cmd = 'true'\n[[variant]]\nname = 'a'\n[[variant]]\nname = 'b'\n[variant.env]\nA = [1]",
        "a = " + "[" * 5000 + "]" * 5000,
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        parse_request(OptionMap({"file": str(file)}), "/")
    assert "\n" not in str(error.value)


def test_a_file_has_bytes_and_files_to_drop_in_the_words_of_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "jobs.toml"
    start = "cmd = 'true'\nvariant = ['a:', 'b:']\n"
    for text, max_bytes, cold in (
        ("most-bytes = '10G'\ncold = 'data'", 10 << 30, ("data",)),
        ("most-bytes = 4096\ncold = ['x', 'y']", 4096, ("x", "y")),
    ):
        file.write_text(start + text)
        request = parse_request(OptionMap({"file": str(file)}), "/")
        assert (request.most_bytes, request.cold) == (max_bytes, cold)


@every_case(
    "values",
    [
        {"cmd": "true"},
        {"cmd": "true", "variant": ["a: X=1"]},
        {"cmd": "true", "variant": ["a: X=1", "a: X=2"]},
        {"variant": ["a: X=1", "b: X=2"]},
        {"cmd": "true", "series": 6, "variant": ["a: X=1", "b: X=2"]},
        {"cmd": "true", "variant": ["a: X=1", "b: X=2"], "prepare": "nonexistent-command"},
        {"cmd": "true", "variant": ["a: X=1", "b: X=2"], "treat": "true"},
        {"cmd": "true", "series": 6, "cold": [""]},
        {"cmd": "true", "series": 6, "every": 3},
        {"cmd": "true", "series": 6, "treat": "true", "every": 6},
        {"cmd": "true", "series": 6, "treat": "nonexistent-command"},
        {"cmd": "true", "variant": ["a: X=1", "b: X=2"], "score": "("},
        {"cmd": "true", "variant": ["a: X=1", "b: X=2"], "score": "no group"},
    ],
)
def test_a_bad_request_is_refused(values: dict[str, str]) -> None:
    with pytest.raises(UsageError) as error:
        parse_request(OptionMap(values), "/")
    assert "\n" not in str(error.value)


def test_scores() -> None:
    assert ScoreReader(r"score: ([\d.]+)").find("score: 3\nscore: 4.5\n") == 4.5
    assert ScoreReader(r"score: ([\d.]+)").find("nothing") is None
    assert ScoreReader("json:a.0.b").find('{"a": [{"b": 7}]}') == 7.0
    assert ScoreReader("json:a").find('{"a": NaN}') is None
    assert ScoreReader("json:a").find('{"a": true}') is None
    assert ScoreReader("json:a").find("not json") is None


VALUES = {"cmd": "echo 'a b'", "prepare": "true", "variant": ["a:", "b: PGPASSWORD=hunter2 wrap='env -u X'"]}


def test_a_secret_is_masked_where_a_variant_is_named() -> None:
    scenario = load_scenario("workload")
    plan = scenario.prepare(Host(), OptionMap(VALUES, scenario.options)).plan
    assert [v.id for v in plan.variants] == ["a", "b"]
    assert "hunter2" not in str(plan.variants) and "PGPASSWORD" in plan.variants[1].label


@pytest.mark.parametrize(
    ("series", "variants", "runs"), [(0, ["a:", "b: nice=1", "c: nice=2"], 24), (20, ["a:"], 0)]
)
def test_the_runs_that_must_fit_are_in_the_plan(series: int, variants: list[str], runs: int) -> None:
    """Two runs a group of each of three variants, four groups; a series has no groups."""
    scenario = load_scenario("workload")
    options = OptionMap({"cmd": "true", "variant": variants, "series": series or None}, scenario.options)
    request = parse_request(options, "/")
    assert request.fewest_runs == runs == 2 * len(request.jobs) * (0 if series else request.load.min_groups)
    plan = scenario.prepare(Host(), options).plan
    assert any(f"({runs} runs)" in line for line in plan.sentences) == bool(runs)


def test_private_tells_digests_of_values_and_commands(tmp_path: Path) -> None:
    scenario = load_scenario("workload")
    private = {"cmd": "echo tiger7", "cleanup": "true tiger7", "private": True}
    values = private | {"variant": ["a:", "b: CODE=tiger7 nice=3 wrap='env X=tiger7'"]}
    plan = scenario.prepare(Host(), OptionMap(values, scenario.options)).plan
    assert "tiger7" not in msgspec.json.encode(plan).decode()
    facts = plan.variants[1].facts
    assert facts == {"CODE": short_hash("tiger7"), "nice": "3", "wrap": short_hash("env X=tiger7")}
    assert [text[:7] for text in plan.commands] == ["sha256:"] * 3
    bad = tmp_path / "jobs.toml"
    bad.write_text('cmd = "/nonexistent/tiger7"\n[[variant]]\nname = "a"\n[[variant]]\nname = "b"\n')
    with pytest.raises(UsageError) as error:
        scenario.prepare(Host(), OptionMap({"file": str(bad), "private": True}, scenario.options))
    assert "tiger7" not in str(error.value) and "--private" in str(error.value)


class Writes(FakeRun):
    """Carries attributes out for real, under a test's own directory."""

    def apply_change(self, action: Action) -> AbstractAsyncContextManager[AppliedChange]:
        return self._written(action)

    @asynccontextmanager
    async def _written(self, action: Action) -> AsyncIterator[AppliedChange]:
        old = Path(action.target).read_text()
        Path(action.target).write_text(f"{action.new}\n")
        yield AppliedChange("x", action, action.new or "")
        Path(action.target).write_text(old)


def test_each_variant_meets_its_own_and_the_others_the_hosts(tmp_path: Path) -> None:
    number, choice = tmp_path / "one", tmp_path / "other"
    number.write_text("1\n")
    choice.write_text("none [bfq]\n")
    a, b = (
        attribute_change(str(number), "1", "7", risk=""),
        attribute_change(str(choice), "bfq", "none", risk=""),
    )

    async def switch() -> list[tuple[str, str]]:
        read_values = []
        async with HostSettingsSwitch(Writes(), (a, b)) as stay:
            for changes in ((), (a,), (a, b), (b,), ()):
                await stay.switch_to(changes)
                read_values.append((read_setting(str(number)), read_setting(str(choice))))
        return read_values

    assert asyncio.run(switch()) == [("1", "bfq"), ("7", "bfq"), ("7", "none"), ("1", "none"), ("1", "bfq")]
    assert (number.read_text(), choice.read_text()) == ("1\n", "none [bfq]\n")


def test_what_somebody_else_changes_is_not_measured(tmp_path: Path) -> None:
    path = tmp_path / "one"
    path.write_text("1\n")

    async def change_and_check() -> None:
        async with HostSettingsSwitch(Writes(), (attribute_change(str(path), "1", "7", risk=""),)) as stay:
            await stay.switch_to(())
            path.write_text("3\n")
            stay.check()

    with pytest.raises(RunRefused, match="is 3 where 1 was in force"):
        asyncio.run(change_and_check())
