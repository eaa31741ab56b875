"""Finds in minutes why a server is slower than it should be, and proves it."""
