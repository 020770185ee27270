"""JSON arrays of any size, read element by element: damage costs an element, not the file."""
