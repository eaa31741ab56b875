"""What imported results say: their contradictions as findings, several of them as a trend, IO500 as a box."""

from hostdx.scenarios.contract.card import Card

CARD = Card(id="import", role="import")
