"""Which I/O scheduler suits this device?"""

from hostdx.scenarios.contract.card import Card

CARD = Card(id="iosched", directories="busiest")
