"""The validation report as one self-contained HTML page: charts are inline SVG, and every text is escaped."""

from palaver.validation.html_report.page import render_html

__all__ = ["render_html"]
