"""Record API traffic as it happens: a reverse proxy that logs every exchange with the timing of every event."""
