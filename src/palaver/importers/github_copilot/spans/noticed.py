"""Findings about traces."""

from palaver.model.finding import finding_kind

BAD_SPAN = finding_kind("bad-span", "error", "A line of a trace holds no span, event or metric; it is set aside.")
