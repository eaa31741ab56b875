"""Can this host be measured?"""

from hostdx.scenarios.contract.card import Card

CARD = Card(id="null", role="resolution", takes_s=26.0)
