"""Dates as other tools print them, as ISO 8601. Without a zone they stay local: no zone is invented."""

import re
from datetime import UTC, datetime, timedelta

_FORMATS = (
    "%a %b %d %H:%M:%S %Y",  # ctime: IOR, hep-score, fio
    "%a, %d %b %Y %H:%M:%S %Z",  # iperf3
    "%m/%d/%Y %H:%M:%S",  # mdtest
    "%Y-%m-%d %H:%M:%S",  # io500, sysstat
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d",
    "%m/%d/%Y",
    "%m/%d/%y",
)


def date_to_iso(text: object) -> str | None:
    """ "2021-03-02T15:53:19", with Z where the text says UTC; None where it is no date that we know."""
    if not isinstance(text, str) or len(text) > 60:
        return None
    words = re.sub(r"\s+", " ", text.strip())
    words = re.sub(r" (?:CES?T|UTC|GMT)(?= \d{4}$)", "", words)  # date(1) puts a zone before the year
    words = re.sub(r"(T\d\d:\d\d:\d\d)\.\d+", r"\1", words)
    for form in _FORMATS:
        try:
            when = datetime.strptime(words, form)
        except ValueError:
            continue
        zone = "Z" if words.endswith(("Z", "GMT")) else ""
        return when.isoformat() + zone if 1980 <= when.year <= 2200 else None
    return None


def epoch_to_iso(seconds: float | None) -> str | None:
    """Epoch seconds as UTC."""
    if seconds is None or not 0 < seconds < 7e9:
        return None
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(seconds))).strftime("%Y-%m-%dT%H:%M:%SZ")
