"""Which I/O scheduler suits this device?"""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(
    id="iosched", complaint=Complaint("the wrong I/O scheduler for a disk", 15), directories="busiest"
)
