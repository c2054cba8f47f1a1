"""Equations for people: `text` is what is called, `writing` how expressions get their words."""
