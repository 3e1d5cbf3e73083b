"""A report card for any attention: what it sees, tells apart, counts, recalls, selects, and with which digits."""
