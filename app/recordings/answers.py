"""The ranked answer of a checkup, and the findings that stand besides it: one list for every view."""

from hostdx.app.recordings.session import RunSession
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.results.result import Item, RankedAnswer


def ranked_items(session: RunSession) -> tuple[Item, ...]:
    """Empty where the recording is none of a checkup, or nothing was ranked yet."""
    ranked = session.find_result(RankedAnswer)
    return ranked.value if ranked is not None else ()


def unlisted_findings(session: RunSession) -> list[Finding]:
    """The findings of a run; of a checkup without its answer and without those that its list names."""
    ranked = ranked_items(session)
    named_keys = {key for item in ranked for key in item.about}
    return [f for f in session.worst_first if not (ranked and f.answers) and f.key not in named_keys]
