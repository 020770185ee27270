"""Joins API calls into the conversations they belong to."""
