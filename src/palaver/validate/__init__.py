"""Judging documents: the published JSON Schema, checked on every single one."""
