"""The verbs of the program, one file each: import, plan, validate, cook, convert, merge, export, diagnose."""
