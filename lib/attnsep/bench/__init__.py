"""What attention costs, in seconds and in memory."""
