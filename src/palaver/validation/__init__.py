"""Validation of documents: the published JSON Schema, rules, levels, and the report."""
