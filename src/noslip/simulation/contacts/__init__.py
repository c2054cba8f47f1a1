"""Contacts that roll, slide, lift and land by Coulomb's law, exact, by events."""
