"""How each formulation gets to its equations, as documents."""
