"""Cooking: traces and conversations become messages and tools that stand once each, and requests that refer to them.

records, documents ──▶ pieces ──▶ table (ids) ──▶ requests ──▶ parents ──▶ one JSON object
"""
