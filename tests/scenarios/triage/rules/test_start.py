"""What triage loads before it can read: nothing that runs, asks a server or measures."""

import subprocess
import sys

HEAVY = (
    "asyncio",
    "http.client",
    "ssl",
    "hostdx.probes.engine",
    "hostdx.scenarios.analysis.imported.findings",
)


def test_triage_loads_nothing_that_it_does_not_need() -> None:
    code = (
        "import sys; from hostdx.scenarios.triage.triage import all_rules; all_rules(); "
        "import hostdx.app.report.triage_text; "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
