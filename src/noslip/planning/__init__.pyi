"""Names that other packages may use, in the order in which they are needed."""
