"""Exact laws of sums of random signs, exact numbers, and certificates: nothing in here knows the paper."""
