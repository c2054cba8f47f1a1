"""Why it moves: `derive` fills `Equations`, one file for each route to them; `verify` compares."""
