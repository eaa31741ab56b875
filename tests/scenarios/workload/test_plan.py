"""The plan: what is agreed to on the screen, and what a person reads of a variant."""

from pathlib import Path

import msgspec
import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.secrecy.secrets import hash_of_text
from hostdx.scenarios.contract.model import Options, UsageError
from hostdx.scenarios.contract.registry import load_scenario
from hostdx.scenarios.workload.request import parse_request

VALUES = {"cmd": "echo 'a b'", "prepare": "true", "variant": ["a:", "b: PGPASSWORD=hunter2 wrap='env -u X'"]}


def test_a_secret_is_masked_where_a_variant_is_named() -> None:
    scenario = load_scenario("workload")
    plan = scenario.prepare(Host(), Options(VALUES, scenario.options)).plan
    assert [v.id for v in plan.variants] == ["a", "b"]
    assert "hunter2" not in str(plan.variants) and "PGPASSWORD" in plan.variants[1].label


@pytest.mark.parametrize(
    ("series", "variants", "runs"), [(0, ["a:", "b: nice=1", "c: nice=2"], 24), (20, ["a:"], 0)]
)
def test_the_runs_that_must_fit_are_in_the_plan(series: int, variants: list[str], runs: int) -> None:
    """Two runs a group of each of three variants, four groups; a series has no groups."""
    scenario = load_scenario("workload")
    options = Options({"cmd": "true", "variant": variants, "series": series or None}, scenario.options)
    request = parse_request(options, "/")
    assert request.fewest_runs == runs == 2 * len(request.jobs) * (0 if series else request.load.min_groups)
    plan = scenario.prepare(Host(), options).plan
    assert any(f"({runs} runs)" in line for line in plan.sentences) == bool(runs)


def test_private_tells_digests_of_values_and_commands(tmp_path: Path) -> None:
    scenario = load_scenario("workload")
    private = {"cmd": "echo tiger7", "cleanup": "true tiger7", "private": True}
    values = private | {"variant": ["a:", "b: CODE=tiger7 nice=3 wrap='env X=tiger7'"]}
    plan = scenario.prepare(Host(), Options(values, scenario.options)).plan
    assert "tiger7" not in msgspec.json.encode(plan).decode()
    facts = plan.variants[1].facts
    assert facts == {"CODE": hash_of_text("tiger7"), "nice": "3", "wrap": hash_of_text("env X=tiger7")}
    assert [text[:7] for text in plan.commands] == ["sha256:"] * 3
    bad = tmp_path / "jobs.toml"
    bad.write_text('cmd = "/nonexistent/tiger7"\n[[variant]]\nname = "a"\n[[variant]]\nname = "b"\n')
    with pytest.raises(UsageError) as error:
        scenario.prepare(Host(), Options({"file": str(bad), "private": True}, scenario.options))
    assert "tiger7" not in str(error.value) and "--private" in str(error.value)
