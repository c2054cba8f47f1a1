"""Descriptions of mechanisms: plain data with names and units, checked as a whole."""
