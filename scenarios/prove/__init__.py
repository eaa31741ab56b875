"""Does a setting help on this host, under this load?"""

from hostdx.scenarios.contract.card import Card

CARD = Card(id="prove", directories="busiest", proves=True)
