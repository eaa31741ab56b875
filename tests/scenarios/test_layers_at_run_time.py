"""The layers, proven at run time: what the import contracts cannot see is an import inside a function or by name."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALL_OF_IT = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
names = [found.name for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
for name in names:
    importlib.import_module(name)
print(len(names))
loaded = {".".join(name.split(".")[:depth]) for name in sys.modules for depth in (1, 2)}
print(sorted(loaded & set(sys.argv[2:])))
"""
AT_WORK = """
import sys
from hostdx.probes.reading.host import Host
from hostdx.scenarios.triage.triage import examine_host
from hostdx.scenarios.storage.scenario import Storage
from hostdx.scenarios.contract.model import OptionMap
for event in examine_host(Host(), lambda: 0.0):
    pass
scenario = Storage()
scenario.prepare(Host(), OptionMap({"dir": ["/var/tmp"]}, scenario.options))
print(sorted({name.split(".")[0] for name in sys.modules} & set(sys.argv[1:])))
"""
SCREEN = ("textual", "rich", "plotext")


def output_lines(code: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("package", "never"),
    [("hostdx.probes", ("hostdx.scenarios", "hostdx.app")), ("hostdx.scenarios", ("hostdx.app",))],
)
def test_no_module_loads_a_screen_or_a_layer_above(package: str, never: tuple[str, ...]) -> None:
    count, modules = output_lines(ALL_OF_IT, package, *SCREEN, *never)
    assert int(count) > 50
    assert modules == "[]"


def test_neither_triage_nor_a_plan_loads_a_screen() -> None:
    assert output_lines(AT_WORK, *SCREEN)[-1] == "[]"


def test_the_proof_would_see_one() -> None:
    code = ALL_OF_IT.replace("print(len(names))", "import rich; print(len(names))")
    assert output_lines(code, "hostdx.probes.engine", *SCREEN)[-1] == "['rich']"
