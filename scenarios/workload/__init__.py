"""A command of one's own, under variants."""

from scenarios.card import Card

CARD = Card(id="workload")
