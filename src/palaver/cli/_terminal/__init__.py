"""Rendering for people: what commands print to a terminal."""
