"""A battery of everyday loads, recorded to be compared."""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(
    id="kernel",
    role="battery",
    complaint=Complaint("changed after an update, or a new node", 7),
    known_by="kernel release",
)
