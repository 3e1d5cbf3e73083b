"""Numbers as people write them: which stand in a text, in code, in a formula, and whether two are the same."""

import ast
import math
import operator
import re
from bisect import bisect_left
from functools import cache
from itertools import pairwise
from typing import NamedTuple

LARGEST_FREE = 12  # "three", "3" and "$m = 3$" are words of any sentence
LARGEST_POWER = 300  # of ten; doubles end soon after


class Number(NamedTuple):
    """A number of a text: how it is written, its value, half a unit of its last digit, whether it is in percent."""

    text: str
    value: float
    half: float
    percent: bool = False

    @property
    def is_free(self):
        """Whether any sentence may have it: a whole number up to twelve, not 2.0, and the whole of something."""
        small = math.isfinite(self.value) and self.value == int(self.value) <= LARGEST_FREE
        return self.text == "100 %" or (small and not {"^", "."} & {*self.text})


POWER = r"(?:\^|\*\*)\s*[{(]?\s*(?P<NAME>[-−+]?\d+)\s*[})]?"
WRITTEN = re.compile(
    r"(?<![\w.])(?:(?:10" + POWER.replace("NAME", "ten") + r"|(?P<digits>\d+(?:\.\d+)?)"
    r"(?:\s*(?:·|×|\*|\\cdot|\\times)\s*10" + POWER.replace("NAME", "times") + r"|e(?P<e>[+-]?\d+)(?!\w))?))"
    r"(?P<percent>\s*\\?%|\s+(?:percent|per\scent)\b)?"
)
GROUPED = re.compile(r"(?<=\d)(?:[,\u202f\u2009\u00a0_]|\{,\}|\\,|(?<=\b\d) |(?<=\b\d\d) |(?<=\b\d\d\d) )(?=\d{3}\b)")
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
# What has digits and says no amount: places in a text, dates and years, versions, an index, what lies on disk.
NO_AMOUNT = re.compile(
    r"\b(?:arXiv[: ]?)?\d{4}\.\d{4,5}(?:v\d+)?\b"
    r"|\b(?:[Ee]xercises?|[Ss]ections?|[Tt]heorems?|[Ll]emmas?|[Dd]efinitions?|[Pp]arts?|[Aa]ppendix|[Tt]ables?"
    r"|[Ff]igures?|[Mm]echanisms?|[Vv]ersions?|Python|CUDA)[ ~]\d+(?:\.\d+)*\b"
    r"|\b\d{4}-\d\d-\d\d\b|(?<![\d$=<>] )(?<![\d$=.,])\b(?:19[5-9]|20[0-3])\d\b(?=[);,.: ]|$)(?! tokens)"
    r"|_(?:\{[^{}]*\}|\w)"
)
ASIDE = re.compile(  # inline code, roles, what a browser does not show
    r"\{[\w:+-]+\}`[^`]*`|`[^`\n]*`|<[^>\n]*>|\]\([^)]*\)|!\[[^\]]*\]|https?://\S+|^:\w+:.*$", re.MULTILINE
)
FRACTION = re.compile(r"\\[dt]?frac\s*(\d)\s*(\d)")
ABOUT = re.compile(r"(?:\b(?:about|almost|around|near|nearly|roughly)|≈)[\s$]*(?:\w = )?$")
DIGIT = re.compile(r"\d")
COMMAND = re.compile(r"\\(?!cdot|times|%)[A-Za-z]+")


def numbers(text):
    """Return the numbers of a text.

    Examples
    --------
    >>> text = "1,024 of $10^{24}$, $a_{17} = 0.70$, 27.2 % in 2023; $3 \\\\cdot 10^{-9}$ is 3e-9"
    >>> [each.text for each in numbers(text)]
    ['1024', '10^24', '0.70', '27.2 %', '3·10^-9', '3·10^-9']
    """
    return [*_numbers(NO_AMOUNT.sub(" ", ASIDE.sub(" ", text)))]


def printed_numbers(text):
    """Return the numbers of an output: all its words count, and digits with a space between are one and two numbers."""
    text = re.sub(r"<[^>\n]*>", " ", text)
    return [*_numbers(text), *(_numbers(text.replace(" ", "  ")) if GROUPED.search(text) else ())]


def _numbers(text):
    if not DIGIT.search(text):
        return
    text = re.sub(r"(?<=\d)([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda raised: "^" + raised[0].translate(RAISED), text)
    text = COMMAND.sub(" ", FRACTION.sub(r" \1 / \2 ", text.replace("\\approx", "≈")))
    for found in WRITTEN.finditer(text := GROUPED.sub("", text)):
        yield _number(found, bool(ABOUT.search(text, max(0, found.start() - 20), found.start())))


def _number(found, about):
    digits, power = found["digits"] or "1", int((found["ten"] or found["times"] or found["e"] or "0").replace("−", "-"))
    percent = bool(found["percent"])
    shown = f"10^{power}" if found["ten"] else digits + (f"·10^{power}" if power else "")
    scale = 10.0 ** max(-LARGEST_POWER, min(LARGEST_POWER, power))
    value = float(digits) * scale if abs(power) < LARGEST_POWER else math.copysign(math.inf, power)
    places = -len(digits.partition(".")[2]) or (len(digits) - len(digits.rstrip("0")) if about else 0)
    half = 0.0 if found["ten"] else 0.5 * 10.0**places * scale
    return Number(shown + (" %" if percent else ""), value, half, percent)


# Numbers as words.  Up to twelve they count things, and those say more than the number.

WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
LARGE = {"thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19}
LARGE |= {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
LARGE |= {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
PANELS = r"(?: (?!(?:and|by|in|of|with)\b)[\w-]+){0,2} (?:circles|histograms|maps|matrices|panels|tables)\b"
COUNTED = re.compile(
    rf"\b(?=(?P<words>(?P<number>{'|'.join(WORDS)})\b(?: (?:a|all|and|as|in|its|of|other|the|to)\b)*(?: [\w-]+)?))"
    rf"(?=\w+(?P<panels>{PANELS})?)",
    re.IGNORECASE,
)


class Count(NamedTuple):
    """What a text counts in words, such as "eight patterns"; the number; whether it counts a figure's panels."""

    words: str
    number: int
    of_panels: bool

    @property
    def key(self):
        """The same for one and for many, at the beginning of a sentence and within."""
        return self.words.lower().removesuffix("s")


def counts(text):
    """Return what a text counts in words, from two to twelve.

    Examples
    --------
    >>> for each in counts("Two small maps. **Three of the eight patterns fire.**"):
    ...     print(each)
    Count(words='Two small', number=2, of_panels=True)
    Count(words='Three of the eight', number=3, of_panels=False)
    Count(words='eight patterns', number=8, of_panels=False)
    """
    return [
        Count(found["words"], WORDS.index(found["number"].lower()) + 2, bool(found["panels"]))
        for found in COUNTED.finditer(" ".join(text.split()))
    ]


def large(text):
    """Return the numbers above twelve that a text has in words; a hundred and more may be off by a twentieth.

    Examples
    --------
    >>> [(each.text, each.half) for each in large("Fifteen of about a million, the thirty-second")]
    [('fifteen', 0.0), ('million', 50000.0)]
    """
    found = re.findall(rf"\b(?:{'|'.join(LARGE)})\b(?!-)", text.lower())
    return [Number(word, float(LARGE[word]), LARGE[word] / 20 if LARGE[word] >= 100 else 0.0) for word in found]


class Evidence:
    """Numbers that something computed; `has` says whether one of them rounds to what is written."""

    def __init__(self, found):
        found = [*found]
        self._texts = {each.text for each in found}
        self._values = sorted({each.value for each in found if math.isfinite(each.value)})
        self._of_percent = sorted({each.value for each in found if each.percent})

    def has(self, number, rounded=True):
        """Return whether the number is one of these, or one of these in fewer digits; 27.2 % is 0.272.

        Examples
        --------
        >>> evidence = Evidence(printed_numbers("0.2718 3822 10^24"))
        >>> [evidence.has(each) for each in numbers("0.27, 27 %, $4 \\\\cdot 10^3$, $10^{24}$, 0.26")]
        [True, True, True, True, False]
        """
        if number.text in self._texts:
            return True
        if not math.isfinite(number.value):
            return False
        value, half = number.value, number.half if rounded else 0.0
        if number.percent:
            return _near(self._values, value / 100, half / 100) or _near(self._of_percent, value, half)
        return _near(self._values, value, half) or _near(self._of_percent, 100 * value, 100 * half)


def _near(values, value, half):
    reach = half * (1 + 1e-6) + 1e-12 * value
    place = bisect_left(values, value - reach)
    return place < len(values) and values[place] <= value + reach


# Code: its constants, and what Python would make of an expression of constants alone.

FOLDED = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.FloorDiv: operator.floordiv,
}


@cache
def tree(source):
    """Return the syntax tree of a cell, or None where it is no Python; several guards look at each."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):  # ValueError: a null character
        return None


@cache
def code_numbers(source):
    """Return the numbers of a cell's code: constants, ``2**10`` and ``1 / 16`` too, and those in its strings.

    Examples
    --------
    >>> [each.text for each in code_numbers("x = 4 * 2**10  # 17\\ny = 'softmax:0.5'")]
    ['4096', '4', '1024', '2', '10', '0.5']
    """
    found, whole = [], tree(source)
    for node in () if whole is None else _in_order(whole):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += _numbers(node.value) if DIGIT.search(node.value) else ()
        elif (value := _folded(node)) is not None:
            shown = f"{value:.12g}" if abs(value) < 1e15 else f"{value:.12e}"
            power = math.log10(abs(value)) if value else 0
            found.append(Number(shown, float(abs(value)), 0.0))
            if power == int(power) and abs(power) > 2:
                found.append(Number(f"10^{int(power)}", float(abs(value)), 0.0))
    return found


def _in_order(tree):
    yield tree
    for child in ast.iter_child_nodes(tree):
        yield from _in_order(child)


def _folded(node):
    """Return the value of an expression of constants, or None."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) in (int, float) and abs(node.value) < 1e300 else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return None if (value := _folded(node.operand)) is None else -value
    if not isinstance(node, ast.BinOp) or type(node.op) not in FOLDED:
        return None
    left, right = _folded(node.left), _folded(node.right)
    if left is None or right is None or (isinstance(node.op, ast.Pow) and abs(right) > LARGEST_POWER):
        return None
    try:
        value = FOLDED[type(node.op)](left, right)
        return value if isinstance(value, (int, float)) and abs(value) < 1e300 else None
    except (ArithmeticError, ValueError):
        return None


# Formulas of numbers alone: both sides are computed.

FORMULA = re.compile(r"(?<![\\$])\$\$(.+?)\$\$|(?<![\\$])\$([^$]+?)(?<!\\)\$", re.DOTALL)
CHAIN = re.compile(r"\\approx(?![a-z])|(?<![<>!:\\])=|≈")
APART = re.compile(
    r"(?<![\\{]),(?!\})(?![^(]*\))|\\q?quad|\\text\{[^}]*\}|;|\\le(?![a-z])|\\ge(?![a-z])|<|>|\\to|\\\\|&"
)
READ_AS = (
    (re.compile(r"\\(?:left|right|[bB]igg?[lr]?|,|;|!|displaystyle)(?![a-z])|\\[,;! ]|~"), " "),
    (re.compile(r"(?<=\d)\{,\}(?=\d)"), ""),
    (re.compile(r"\\cdot(?![a-z])|\\times(?![a-z])|·|×"), "*"),
    (re.compile(r"\\%"), "*0.01"),
    (re.compile(r"\\[dt]?frac\s*(\d)\s*(\d)"), r"((\1)/(\2))"),
    (re.compile(r"\\sqrt\s*(\d)"), r"\\sqrt{\1}"),
    (re.compile(r"\\(?:log|ln)\s*(\d+(?:\.\d+)?(?:\^(?:\d|\{-?\d+\}))?)"), r"log(\1)"),
    (re.compile(r"\^\s*(\d)"), r"**\1"),
)
EXACT = 2  # digits of a decimal that nobody rounded
SAME_BASE = re.compile(r"(?P<base>[A-Za-z])\^\{(?P<exponent>[^{}]+)\}")
IN_BRACES = r"\{([^{}]*)\}"


@cache
def equations(text):
    """Return (formula, numbers, whether it is true) for each equation of numbers alone, = or ≈, in a text's formulas.

    A side that is written out may be rounded, after ≈ also to its last digit that is not 0, and so may be decimals of
    three digits and more in what is computed; shorter ones, such as 0.7, are taken as they are.

    Examples
    --------
    >>> text = "$p = 3822/(3822 + 1023) = 0.79$, $\\\\sqrt{16} = 5$"
    >>> [(formula, true) for formula, _, true in equations(text)]
    [('3822/(3822 + 1023) = 0.79', True), ('\\\\sqrt{16} = 5', False)]
    """
    found = []
    for formula in FORMULA.finditer(text):
        for part in APART.split(formula[1] or formula[2]):
            sides, signs = [side.strip() for side in CHAIN.split(part)], CHAIN.findall(part)
            for sign, (left, right) in zip(signs, pairwise(sides), strict=True):
                if (true := _agree(left, right, sign != "=")) is not None:
                    found.append((f"{left} {sign} {right}", [*_numbers(f"{left} ; {right}")], true))
    return found


@cache
def _agree(left, right, about):
    if (powers := [SAME_BASE.fullmatch(side) for side in (left, right)]) and all(powers):
        left, right = (power["exponent"] if powers[0]["base"] == powers[1]["base"] else "" for power in powers)
    found = [_computed(side, about) for side in (left, right)]
    if None in found:
        return None
    (one, half), (other, unit) = found
    return abs(one - other) <= (half + unit) * (1 + 1e-6) + 1e-9 * abs(other)


def _computed(side, about):
    """Return (value, how far off rounding may have moved it) of a side, or None where it is no number."""
    source = _python(side)
    try:
        tree = ast.parse(source, mode="eval") if source else None
        if tree is None or not all(_is_arithmetic(node) for node in ast.walk(tree)):
            return None
        value, half = _value(tree.body), 0.0
        if literal := WRITTEN.fullmatch(source):
            return value, _number(literal, about).half
        for node in ast.walk(tree):
            digits = ast.get_source_segment(source, node) if isinstance(node, ast.Constant) else ""
            whole, _, decimals = digits.partition(".")
            if decimals and max(len(decimals), len((whole + decimals).lstrip("0"))) > EXACT:
                kept, node.value = node.value, node.value + 0.5 * 10.0 ** -len(decimals)
                half += abs(_value(tree.body) - value)
                node.value = kept
        return value, half
    except (SyntaxError, ArithmeticError, ValueError, TypeError):
        return None


def _python(side):
    for pattern, words in READ_AS:
        side = pattern.sub(words, side)
    for _ in range(6):
        side = re.sub(rf"\\[dt]?frac\s*{IN_BRACES}\s*{IN_BRACES}", r"((\1)/(\2))", side)
        side = re.sub(rf"\\sqrt\s*{IN_BRACES}", r"sqrt(\1)", side)
        side = re.sub(rf"\^\s*{IN_BRACES}", r"**(\1)", side)
    side = re.sub(r"(?<=[\d)])\s*(?=\(|sqrt|log)", "*", side).replace("−", "-")
    return "" if re.search(r"[^\d\s.+*/()\-logsqrt]", side) or not re.search(r"\d", side) else side.strip()


def _is_arithmetic(node):
    kinds = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.USub, ast.Load, *FOLDED)
    return isinstance(node, kinds) or (
        (isinstance(node, ast.Constant) and type(node.value) in (int, float))
        or (isinstance(node, ast.Call) and len(node.args) == 1)
        or (isinstance(node, ast.Name) and node.id in ("sqrt", "log"))
    )


def _value(node):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand)
    if isinstance(node, ast.Call):
        return getattr(math, node.func.id)(_value(node.args[0]))
    left, right = _value(node.left), _value(node.right)
    if isinstance(node.op, ast.Pow) and abs(right) > LARGEST_POWER:
        raise ArithmeticError
    return float(FOLDED[type(node.op)](left, right))
