"""Which tasks hang in D, and on what?"""

from hostdx.scenarios.contract.card import Card, Complaint, SampleTrace

CARD = Card(
    id="dstate",
    complaint=Complaint("high load but idle CPUs", 5),
    trace=SampleTrace(
        series="tasks in D",
        words="tasks in D (a wait no signal ends)",
        nothing="no task was stuck in D for 3 s so far",
    ),
)
