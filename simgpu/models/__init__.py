"""What a simulated GPU is modelled on: speeds from a data sheet, or fitted to a recorded trace."""
