"""From traced expressions to native functions: `program` is compiled, `System` comes out."""
