"""Attention by any kernel, on any array library: nothing in here knows the paper or its data."""
