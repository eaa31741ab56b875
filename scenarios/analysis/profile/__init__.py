"""Where the time goes: what a wait is for, how a difference is divided, call paths. Scenarios share it."""
