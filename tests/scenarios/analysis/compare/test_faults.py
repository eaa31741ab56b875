"""Known faults of the compared kernels: those that the recorded facts rule out are not said."""

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.comparison import _TELLS, kernel_faults_by_side
from hostdx.scenarios.analysis.compare.run_summary import FactKey
from hostdx.scenarios.kernel.rules import NEEDS
from tests.every_case import every_case
from tests.fakes.streams.takes import summary

RETBLEED, HUGE = "mitigation__retbleed", "memory__transparent_huge_pages"


def _fault_ids(release: str, **facts: Json) -> list[str]:
    values: dict[FactKey, Json] = {("kernel", "release"): release}
    values |= {tuple(k.split("__")): v for k, v in facts.items()}  # type: ignore[misc]
    return [f.id for f in kernel_faults_by_side([summary({"a": 1.0}, facts=values)], [summary({"a": 1.0})])]


@every_case(
    ("release", "fault", "met", "unmet"),
    [
        ("5.19.1", "ibrs-entry", {RETBLEED: "Mitigation: IBRS"}, {RETBLEED: "Not affected"}),
        ("6.8.0", "thp-alignment", {HUGE: "always"}, {HUGE: "madvise"}),
        ("5.15.0", "amd-dummy-wait", {"cpu__vendor": "AMD", "cpu__threads": 64}, {"cpu__vendor": "Intel"}),
        ("5.15.0", "xfs-log-lock", {"directory__file_system": "xfs", "cpu__threads": 64}, {"cpu__threads": 4}),
        ("6.9.0", "sata-link-power", {"disk:sda__transport": "sata"}, {"disk:vda__transport": "virtio"}),
        ("5.10.0", "bfq-unpatched", {"disk:sda__scheduler": "bfq"}, {"disk:sda__scheduler": "mq-deadline"}),
    ],
)  # fmt: skip
def test_a_recorded_fact_rules_out_what_cannot_matter(
    release: str, fault: str, met: dict[str, Json], unmet: dict[str, Json]
) -> None:
    assert fault in _fault_ids(release, **met)
    assert fault in _fault_ids(release)  # nothing recorded rules nothing out
    assert fault not in _fault_ids(release, **unmet)


def test_the_needs_are_those_of_the_running_kernels_rules() -> None:
    assert set(_TELLS) <= set(NEEDS)
