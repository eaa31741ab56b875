"""Processes of our own code: how they are started, and what the programs that we start do not inherit."""
