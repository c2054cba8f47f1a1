"""Parts of vehicles and arms, such as wheels and hitches, each of which expands to plain data."""
