"""What a training leaves: its result, its history, its errors, and the settings it ran with."""
