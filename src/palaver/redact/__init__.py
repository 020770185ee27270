"""Secrets and their masks: in headers, URLs, settings, and text that quotes them."""
