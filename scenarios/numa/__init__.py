"""Do CPUs and memory give what this machine should?"""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(id="numa", complaint=Complaint("slow CPUs, memory or NUMA placement", 11))
