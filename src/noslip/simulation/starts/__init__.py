"""Consistent starts of one run and of many: completion, and its derivatives."""
