"""ZIP archives, read in place as folders: damaged ones as far as possible, oversized ones up to a limit."""
