"""Is it the disk?"""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(id="storage", complaint=Complaint("this disk, or this directory", 2), directories="compared")
