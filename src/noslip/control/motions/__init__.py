"""What a vehicle does on a timed path: its admissible reference."""
