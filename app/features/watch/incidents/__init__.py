"""The incident book: looks at the host every ten seconds, kept for two days, and what they say."""
