"""The machinery of claims: how one is stated, checked, recorded, kept from weakening, and shown."""
