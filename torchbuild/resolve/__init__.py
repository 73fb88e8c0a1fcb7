"""Recipe + facts + answers -> lock. Pure: what must be read from the world is handed in."""
