"""Opening what the user pointed at, safely and as a stream."""
