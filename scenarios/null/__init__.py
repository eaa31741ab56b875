"""Can this host be measured?"""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(
    id="null", complaint=Complaint("figures that change from run to run", 10), role="resolution", takes_s=26.0
)
