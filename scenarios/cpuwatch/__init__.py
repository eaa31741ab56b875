"""Who uses the CPUs, and does a job use too many?"""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(id="cpuwatch", complaint=Complaint("one user starves the others", 6), process_option="pid")
