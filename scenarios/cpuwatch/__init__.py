"""Who uses the CPUs, and does a job use too many?"""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(id="cpuwatch", complaint=Complaint("busy CPUs: who uses them", 6), process_option="pid")
