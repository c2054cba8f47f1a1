"""From a choice to the run that is shown: a `Session` takes the one and finds the other."""
