"""A question, an experiment, a verdict: a folder each."""

GROUP = "hostdx.scenarios"  # the entry point group by which another package brings a scenario
