"""The ledger's own view: what the bundled recording says, sizes as fstrim says them, no column without a value."""

from hostdx.scenarios.fstrim.results import TrimLedger


def test_an_empty_ledger_is_survived() -> None:
    assert TrimLedger(t=1.0, value=()).appendix_parts == ()
