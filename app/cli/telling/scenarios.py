"""`hostdx scenarios`: what can be run here, and why not."""

import click
import msgspec

from hostdx.app.cli.look import add_color_option
from hostdx.app.report.json_document import to_json_text
from hostdx.app.terminal.output import print_parts, print_result
from hostdx.probes.reading.host import Host
from hostdx.probes.units import format_duration
from hostdx.scenarios.contract import events as ev


@add_color_option
@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def scenarios(as_json: bool) -> int:
    """What can be run here, what it answers, how long it takes, and why it cannot be run."""
    from hostdx.scenarios.triage.triage import scenario_offers

    listed_offers = list(scenario_offers(Host(), lambda: 0.0))
    if as_json:
        print_result(
            to_json_text(
                {"schema": ev.SCHEMA, "scenarios": [_offer_document(offer) for offer in listed_offers]}
            )
        )
        return 0
    width = max((len(offer.id) for offer in listed_offers), default=0)
    for offer in listed_offers:
        takes = f"about {format_duration(offer.takes_s)}" if offer.takes_s else "as long as asked"
        print_parts(
            [(f"{offer.id:<{width}}", "strong"), (f"  {offer.question}", ""), (f"  ({takes})", "dim")]
        )
        if offer.blocked:
            print_parts([(f"{'':<{width}}  not here: {offer.blocked}", "unknown")])
        elif offer.needs:
            print_parts([(f"{'':<{width}}  needs {offer.needs}", "dim")])
    return 0


def _offer_document(offer: ev.ScenarioOffer) -> dict[str, object]:
    body: dict[str, object] = msgspec.to_builtins(offer)
    options = [msgspec.to_builtins(option) for option in offer.options]
    keys = ("id", "title", "question", "takes_s", "needs", "answers", "blocked")
    return {key: body.get(key, getattr(offer, key)) for key in keys} | {"options": options}
