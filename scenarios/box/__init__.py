"""Between which corners does this file system leave an application?"""

from scenarios.card import Card, Complaint

CARD = Card(
    id="box", complaint=Complaint("jobs' files, on shared storage", 8), directories="first", takes_s=140.0
)
