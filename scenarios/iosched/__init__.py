"""Which I/O scheduler suits this device?"""

from scenarios.contract.card import Card, Complaint

CARD = Card(
    id="iosched", complaint=Complaint("one user starves the others", 6, disks=True), directories="busiest"
)
