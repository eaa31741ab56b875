"""The whole host in five minutes."""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(
    id="checkup",
    role="whole",
    complaint=Complaint("slower than elsewhere, cause unknown", 1),
    directories="compared",
    takes_s=300.0,
)
