"""What one browser shows and takes: a `Page` and its parts."""
