"""What the make verbs run; nothing here is imported by the library or the chapters."""

import sys

# nbformat imports jsonschema, which compiles 38 grammars of addresses where it finds this package, and JupyterLab
# brings it: more than a second in each process.  No notebook's schema asks for one.
sys.modules.setdefault("rfc3987_syntax", None)
