"""What the book adds: one module for each chapter beyond the paper that needs one, of the same name."""
