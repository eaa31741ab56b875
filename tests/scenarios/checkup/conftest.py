"""Which scenarios a checkup finds: made ones."""

from collections.abc import Callable

import pytest

from hostdx.scenarios.checkup import parts
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import Scenario


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def set_offer(*fakes: Scenario, suspect: str = "") -> None:
        monkeypatch.setattr(parts, "candidate_scenarios", lambda: fakes)
        finding = Finding(id="x.y", severity="warning", title="odd", prove=suspect)
        events = [ev.Found(t=0.1, finding=finding)] if suspect else []
        monkeypatch.setattr(
            "hostdx.scenarios.triage.triage.examine_host", lambda host, time, facts: iter(events)
        )

    return set_offer
