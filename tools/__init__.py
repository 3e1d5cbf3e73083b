"""What the make verbs run; nothing here is imported by the library or the chapters."""
