"""Rendering of answers in a terminal; `output` is the only module that prints."""
