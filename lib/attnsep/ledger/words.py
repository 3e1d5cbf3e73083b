"""What a reader sees of a claim's evidence: two sentences, which CI compares, and the same as a badge with a fold."""

import re
from dataclasses import dataclass
from html import escape
from typing import Any

from attnsep.checks import require_choice, require_double
from attnsep.tables import shown

OPPOSITE = {"holds": "refuted", "refuted": "holds"}
AMOUNT = re.compile(r"\bthis\b")  # the place of a control where its amount goes


def control_words(expect, smallest_failing, largest_passing):
    """Return what a control did: the smallest violation that turns the verdict over, the largest that does not.

    Examples
    --------
    >>> control_words("holds", 1, 0), control_words("refuted", 1, 0), control_words("holds", None, 1)
    ('fails at 1, passes at 0', 'holds at 1, is refuted at 0', 'NEVER FAILS, passes at 1')
    """
    require_choice("expect", expect, tuple(OPPOSITE))
    for name, amount in (("smallest_failing", smallest_failing), ("largest_passing", largest_passing)):
        if amount is not None:
            require_double(name, amount)
    turned, same = ("fails", "passes") if expect == "holds" else ("holds", "is refuted")
    first = f"NEVER {turned.upper()}" if smallest_failing is None else f"{turned} at {shown(smallest_failing)}"
    return first + ("" if largest_passing is None else f", {same} at {shown(largest_passing)}")


@dataclass(frozen=True)
class Badge:
    """A claim's evidence as a page shows it: the verdict to be seen, its figures and its control in a fold.

    Parameters
    ----------
    evidence : Evidence
        What a run found.
    """

    evidence: Any

    @property
    def sentences(self):
        """What was found and what the control did, each as one line for a reader.

        Examples
        --------
        >>> from attnsep.claims import verify
        >>> print(Badge(*verify(["silent-for-certain"])))
        Holds – proved; exact, 24 cases, n from 2 to 58. The tightest case meets its bound exactly.
        Broken on purpose: c is lower by 1e-09. Then it fails, as it must.
        """
        head, slack, control = _parts(self.evidence)
        return f"{head} {slack}", control

    def __repr__(self):
        return "\n".join(self.sentences)

    def _repr_html_(self):
        found = self.evidence
        head, slack, control = _parts(found)
        verdict, figures = escape(head).split(" – ", 1)
        kind, level = found.verdict if found.as_expected else "wrong", _levels(found).partition(";")[0]
        label, _, words = escape(control).partition(":")
        return (
            f'<details class="check check-{kind} level-{level}" data-claim="{found.claim.id}">'
            f'<summary><span class="check-verdict">{verdict}</span> {figures}</summary>'
            f"<p>{escape(slack)}</p><p><em>{label}:</em>{words}</p></details>"
        )


def _parts(evidence):
    """Return the verdict with what was tried, how much there is to spare, and what the control did."""
    head = f"{evidence.verdict.capitalize()} – {_levels(evidence)}, {_counted(evidence.cases)}{_tried(evidence)}."
    return head, _slack(evidence) + _luck(evidence), _control(evidence)


def _levels(evidence):
    """Return the level of the check, and before it that of a proof, with which a check that refutes does not agree."""
    return evidence.claim.evidence if evidence.verdict == "holds" else evidence.claim.level


def _counted(cases):
    return "1 case" if cases == 1 else f"{cases} cases"


def _tried(evidence):
    if "n" not in evidence.reached:
        return ""
    low, high = map(_size, evidence.reached["n"])
    return f", n = {low}" if low == high else f", n from {low} to {high}"


def _size(n):
    """Return a number of tokens as text, a large one by its power of ten.

    Examples
    --------
    >>> _size(65536), _size(10**300), _size(1498000000000)
    ('65536', '10^300', '1.5·10^12')
    """
    if abs(n) < 10**7:
        return shown(n)
    digits, power = f"{n:.1e}".split("e")
    digits = digits.removesuffix(".0")
    return ("" if digits == "1" else f"{digits}·") + f"10^{int(power)}"


def _slack(evidence):
    rounding = shown(float(f"{evidence.tolerance:.1g}"))
    if evidence.verdict == "undecided":
        return "Not every case came to a verdict."
    if evidence.verdict == "refuted":
        if evidence.equality:
            return f"The worst value is off by {_part(-evidence.margin, 'the stated one')}."
        return f"The worst case misses its bound by {_part(-evidence.margin, 'that bound')}."
    if evidence.equality:
        return f"Every value is the stated one{f' to within {rounding} of it' if evidence.tolerance else ' exactly'}."
    if evidence.margin == 0:
        return f"The tightest case meets its bound{f', up to {rounding} of it' if evidence.tolerance else ' exactly'}."
    return f"The tightest case has {_part(evidence.margin, 'its bound')} to spare."


def _part(margin, whole):
    """Return a slack as a part of the bound.

    Examples
    --------
    >>> _part(0.944, "it"), _part(0.000416, "it"), _part(1 + 1e-9, "it"), _part(73.7, "it"), _part(2e-18, "it")
    ('94.4 % of it', '0.0416 % of it', '100 % of it', '73.7 times it', '2e-18 of it')
    """
    if margin > 1.005:
        return f"{shown(margin)} times {whole}"
    return f"{shown(100 * margin)} % of {whole}" if margin >= 1e-5 else f"{shown(margin)} of {whole}"


def _luck(evidence):
    if not evidence.alarm:
        return ""
    return f" Other draws would refute a true statement with probability at most {shown(evidence.alarm)}."


def _control(evidence):
    fails, passes = min(evidence.fails, default=None), max(evidence.passes, default=None)
    holds = evidence.claim.expect == "holds"
    first, then, still = (
        ("Broken on purpose", "it fails, as it must", "still holds")
        if holds
        else ("Changed on purpose", "it holds", "is still refuted")
    )
    amount = evidence.claim.violations[-1] if fails is None else fails
    words = AMOUNT.sub(shown(amount), evidence.claim.control)
    if fails is None:
        return f"{first}: {words}. This must turn the verdict over, and NEVER does."
    rest = "" if not passes else f"; with {shown(passes)} instead it {still}"
    return f"{first}: {words}. Then {then}{rest}."
