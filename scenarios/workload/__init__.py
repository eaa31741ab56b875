"""A command of one's own, under variants."""

from hostdx.scenarios.contract.card import Card

CARD = Card(id="workload")
