"""Can this host feed its disks and its network card at once, and what is the limit?"""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(
    id="fullstack",
    complaint=Complaint("a storage server, slow to its clients", 9),
    directories="first",
    takes_s=260.0,
    rates=True,
)
