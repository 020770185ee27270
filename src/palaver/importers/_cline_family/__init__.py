"""Shared reader for tasks of Roo Code, Cline and Kilo Code: one format in three dialects."""
