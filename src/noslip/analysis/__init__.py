"""What a system says at an instant and along a motion, and how that depends on what is given."""
