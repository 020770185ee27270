"""A report as one HTML page that stands on its own: a section a module, charts drawn as SVG, every text escaped."""

from palaver.validation.page.document import page

__all__ = ["page"]
