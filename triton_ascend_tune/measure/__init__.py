"""How a time is taken. ``event`` measures between device events; every method takes trials and returns samples."""
