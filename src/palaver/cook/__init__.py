"""Cooking: turn traces and conversations into unique messages and tools, and requests that refer to them by id.

calls ──▶ exchanges ─┐
                     ├─▶ blocks ──▶ pieces ──▶ table (ids) ──▶ requests ──▶ parents ──▶ one JSON object
documents ───────────┘
"""
