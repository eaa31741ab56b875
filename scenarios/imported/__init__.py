"""What imported results say: their contradictions as findings, several of them as a trend, IO500 as a box."""

SCENARIO = "import"  # what the recording of an import names as its scenario
