"""Code that importers of several platforms share: their contract, finding kinds, and readers of common formats."""
