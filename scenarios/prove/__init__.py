"""Does a setting help on this host, under this load?"""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(id="prove", complaint=Complaint("a setting that could be better", 13), proves=True)
