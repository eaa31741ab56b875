"""The incident book: a sample of the host every ten seconds, kept in 32 MB, and what the samples say."""
