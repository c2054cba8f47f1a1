"""How fast a point moves along its path."""
