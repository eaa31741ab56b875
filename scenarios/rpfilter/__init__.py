"""What the firewall's reverse-path check costs: what is compared, what the cost means here, what to do about it."""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(id="rpfilter", complaint=Complaint("packets, and a firewall", 4))
