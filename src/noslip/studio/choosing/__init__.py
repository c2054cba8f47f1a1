"""Choices of a page: `Choice` holds all of them, `controls` finds the knobs that set them."""
