"""What a page lets one choose: `Choice` is all of it, `controls` finds the knobs that set it."""
