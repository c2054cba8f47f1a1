"""Equations of motion: `derive` fills `Equations` by a formulation; `verify` compares them."""
