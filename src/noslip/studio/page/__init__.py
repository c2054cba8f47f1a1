"""Page of one browser: a `Page` and its parts."""
