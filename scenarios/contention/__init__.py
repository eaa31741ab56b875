"""Does more in parallel give more? Workers against throughput, the knee, and the lock that makes it."""

from hostdx.scenarios.contract.card import Card

CARD = Card(id="contention", directories="compared", compares=False)
