"""What is the best and worst rate an application can get from this file system?"""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(
    id="box", complaint=Complaint("slow job files on shared storage", 8), directories="first", takes_s=140.0
)
