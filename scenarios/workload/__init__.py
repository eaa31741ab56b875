"""A command of one's own, under variants."""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(id="workload", complaint=Complaint("a command of my own, under variants", 14))
