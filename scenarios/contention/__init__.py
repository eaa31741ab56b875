"""Does more in parallel give more? Workers against throughput, the knee, and the lock that makes it."""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(id="contention", complaint=Complaint("more workers, no more work done", 12), compares=False)
