"""Many findings of one kind become one; findings of different kinds stay."""

from hostdx.scenarios.contract.finding import Evidence, Finding, Severity, fold_alike_findings


def one(name: str, severity: Severity = "notice", what: str = "runs none") -> Finding:
    return Finding(
        id="x.y",
        severity=severity,
        subject=name,
        alike=what,
        title=f"{name} {what}",
        evidence=(Evidence(f"{name}: none"),),
    )


def test_119_disks_are_one_line_with_a_count_and_a_list() -> None:
    [alike_finding] = fold_alike_findings(one(f"sd{n}") for n in range(119))
    assert all(said in alike_finding.title for said in ("sd0", "118", "sd1, sd2, sd3"))
    assert len(alike_finding.subjects) == 119 and all(
        said in alike_finding.evidence[-1].text for said in ("111", "sd8, sd9")
    )
