"""Do CPUs and memory give what this machine should?"""

from hostdx.scenarios.contract.card import Card

CARD = Card(id="numa")
