"""Incidents in sampled figures: stretches in which a resource stood above its own quiet level."""
