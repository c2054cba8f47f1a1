"""What a mechanism is: plain data with names and units, in Python or a file, checked as a whole."""
