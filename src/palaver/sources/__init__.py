"""Files and folders that the user names, opened safely and read as streams of records."""
