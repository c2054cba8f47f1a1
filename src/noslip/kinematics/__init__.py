"""What moves: `trace` gives poses, constraint rows and the speeds that the rows leave free."""
