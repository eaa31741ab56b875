"""A command of one's own, under variants."""

from scenarios.contract.card import Card

CARD = Card(id="workload")
