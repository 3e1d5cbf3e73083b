import re

from tools.files import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def verbs():
    """Return {verb: its description, or nothing} for the targets that a person types."""
    return dict(re.findall(r"^([a-z][a-z-]*):(?!=)[^#\n]*(?:## (.*))?$", MAKEFILE, re.MULTILINE))


def test_every_verb_is_described_so_that_help_lists_it():
    assert [verb for verb, description in verbs().items() if not description] == []


def test_every_verb_is_phony():
    (phony,) = re.findall(r"^\.PHONY: (help .*)$", MAKEFILE, re.MULTILINE)
    assert phony.split() == list(verbs())
