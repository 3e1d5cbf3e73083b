"""Which statements Coq has proved: what the last `make prove` stored, read by the pages."""

import hashlib
import json
from functools import cache
from pathlib import Path

from attnsep.files import read

PROVED = "proved"  # the level of a statement that Coq has proved

# The axioms that Coq's real numbers rest on, by their names in Coq, in words.  No proof may use another one.
AXIOMS = {
    "ClassicalDedekindReals.sig_forall_dec": "a property of whole numbers that can be decided for each of them holds "
    "for all, or fails for one, and one may go by which",
    "ClassicalDedekindReals.sig_not_dec": "every statement is refuted or cannot be refuted, and one may go by which",
    "FunctionalExtensionality.functional_extensionality_dep": "functions with the same values are the same",
    "Classical_Prop.classic": "every statement is true or false",
}


def proofs_path():
    """Return where the record of proofs lies."""
    return Path(__file__).with_name("proofs.json")


@cache
def read_proofs():
    """Return the record of proofs.

    Returns
    -------
    dict
        ``versions`` of Coq and its library, the ``axioms`` that all proofs together use, ``sources`` with a digest of
        each file, ``definitions`` with digests of both sides of each definition, and ``statements``: by label a digest
        of the book's words, whether the theorems say the whole of them, and of each theorem its statement as Coq prints
        it and a digest of it without any notation.
    """
    return json.loads(read(proofs_path()))


def digest(text):
    """Return a digest of a text in which all white space is the same.

    Examples
    --------
    >>> digest("1 < 2") == digest("1  <\\n2"), digest("1 < 2") == digest("1 < 3")
    (True, False)
    """
    return hashlib.sha256(" ".join(text.split()).encode("utf-8")).hexdigest()[:16]


def is_proved(label, words):
    """Return whether Coq has proved the whole of a statement, and whether that had these words.

    Parameters
    ----------
    label : str
        Of a statement of the book.
    words : str
        The statement.

    Examples
    --------
    >>> is_proved("hoeffding-one-sided", "Every sum of signs is at most 0.")
    False
    """
    entry = read_proofs()["statements"].get(label, {})
    return entry.get("book") == digest(words) and entry["whole"]
