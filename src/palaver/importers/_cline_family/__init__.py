"""Tasks of Roo Code, Cline and Kilo Code: one format with three dialects, read once for all of them."""
