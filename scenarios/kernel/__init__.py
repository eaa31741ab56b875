"""A battery of everyday loads, recorded to be compared."""

RECORDED = "kernel.recorded"  # the id of the finding that answers a run
