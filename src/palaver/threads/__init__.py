"""Threads: calls of an API joined into the conversations that they are parts of."""
