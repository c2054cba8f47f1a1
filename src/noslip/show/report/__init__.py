"""A run as one page that needs nothing from anywhere: what was simulated, how it moved, proofs."""
