"""Many findings of one kind become one; findings of different kinds stay."""

from hostdx.scenarios.contract.finding import Evidence, Finding, Severity, fold_alike_findings


def make_finding(name: str, severity: Severity = "notice", fault: str = "runs none") -> Finding:
    return Finding(
        id="x.y",
        severity=severity,
        subject=name,
        alike=fault,
        title=f"{name} {fault}",
        evidence=(Evidence(f"{name}: none"),),
    )


def test_119_disks_are_one_line_with_a_count_and_a_list() -> None:
    [alike_finding] = fold_alike_findings(make_finding(f"sd{n}") for n in range(119))
    assert all(part in alike_finding.title for part in ("sd0", "118", "sd1, sd2, sd3"))
    assert len(alike_finding.subjects) == 119 and all(
        part in alike_finding.evidence[-1].text for part in ("111", "sd8, sd9")
    )
