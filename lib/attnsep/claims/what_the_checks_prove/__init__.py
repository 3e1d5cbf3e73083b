"""The claims of the chapter *What the checks prove*: certificates, boxes of parameters, and first sizes."""

from attnsep.claims.what_the_checks_prove import certified, boxes, finite_sizes  # noqa: F401, I001  in the book's order
