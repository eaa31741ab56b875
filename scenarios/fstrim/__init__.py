"""Does trimming bring an SSD back?"""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(id="fstrim", complaint=Complaint("slower from day to day", 3), directories="first")
