"""Can this host feed its disks and its network card at once, and what is the limit?"""

from scenarios.card import Card

CARD = Card(id="fullstack", directories="first", takes_s=200.0)
