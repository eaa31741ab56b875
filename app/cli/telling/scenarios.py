"""`hostdx scenarios`: what can be run here, and why not."""

import click
import msgspec

from app.cli.look import with_colour
from app.output import out, out_parts
from app.report.json_document import encoded
from probes.host import Host
from probes.units import duration
from scenarios import events as ev


@with_colour
@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def scenarios(as_json: bool) -> int:
    """What can be run here, what it answers, how long it takes, and why it cannot be run."""
    from scenarios.triage import scenario_offers

    found = list(scenario_offers(Host(), lambda: 0.0))
    if as_json:
        out(encoded({"schema": ev.SCHEMA, "scenarios": [_document(offer) for offer in found]}))
        return 0
    width = max((len(offer.id) for offer in found), default=0)
    for offer in found:
        takes = f"about {duration(offer.takes_s)}" if offer.takes_s else "as long as asked"
        out_parts([(f"{offer.id:<{width}}", "strong"), (f"  {offer.question}", ""), (f"  ({takes})", "dim")])
        if offer.blocked:
            out_parts([(f"{'':<{width}}  not here: {offer.blocked}", "unknown")])
        elif offer.needs:
            out_parts([(f"{'':<{width}}  needs {offer.needs}", "dim")])
    return 0


def _document(offer: ev.ScenarioOffer) -> dict[str, object]:
    body: dict[str, object] = msgspec.to_builtins(offer)
    options = [msgspec.to_builtins(option) for option in offer.options]
    keys = ("id", "title", "question", "takes_s", "needs", "answers", "blocked")
    return {key: body.get(key, getattr(offer, key)) for key in keys} | {"options": options}
