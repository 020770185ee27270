"""Validation of documents: the published JSON Schema, the rules, the levels and the report."""
