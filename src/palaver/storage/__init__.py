"""Data that outgrows memory, kept in temporary files."""
