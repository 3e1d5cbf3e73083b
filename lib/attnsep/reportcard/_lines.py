"""The lines of a report card: one function each, which measures one thing about an attention."""

import math
import time
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import takewhile
from statistics import median
from typing import Any

import numpy as np

from attnsep.attention.kernels import Kernel
from attnsep.extensions.recall import recall_floor
from attnsep.extensions.where_linear_wins import SHARES, CountData
from attnsep.paper import tokens
from attnsep.paper.network import signs
from attnsep.paper.tokens import TokenData
from attnsep.probability.sign_sums import clopper_pearson
from attnsep.reportcard._callables import Misfit

WEAK, STRONG, CONSTANT, COLUMNS = Fraction(1, 20), Fraction(7, 10), Fraction(1, 2), 10  # a_0, a_1, c and m of the book
ERROR = 0.1  # of a network that separates, or counts
RECALLED = 0.05  # loss: in the answers, the right value has all weight but for a third
FEW_PAIRS = 16  # whoever recalls fewer does not recall
NETWORKS = 10_000  # drawn for a frequency
ALARM = 1e-6 / 20  # chance that an interval misses its probability; a card has fewer than twenty
WIDE = 512  # tokens, of which a window does not see all
PLACES = 5  # of the mark, where places count
NEAR = 0.2  # largest difference of the logarithms of gains between an attention and its nearest known kernel
TIE = 64 * np.finfo(float).eps  # of the threshold: above it by less is a tie, which does not fire
STEPS = 14  # of a bisection, on a logarithmic scale
YES, NO, PARTLY, UNJUDGED = "yes", "no", "partly", "not judged"


@dataclass(frozen=True)
class Line:
    """What the card says about one thing.

    Attributes
    ----------
    name : str
        What was asked, one word.
    verdict : str
        yes, no, partly or not judged.
    says : str
        The finding in one or two sentences, with its numbers.
    numbers : dict
        The same numbers, for programs.
    chapter : str
        The chapter of the book that explains the line.
    """

    name: str
    verdict: str
    says: str
    numbers: dict[str, Any]
    chapter: str


class Judge:
    """An attention, the time that is left for it, and what the lines find out on their way.

    Attributes
    ----------
    attention : Attention
        What is judged.
    rng : numpy.random.Generator
        Source of all draws.
    seconds : float
        Time for the whole card.
    """

    def __init__(self, attention, rng, seconds):
        self.attention, self.rng, self.end = attention, rng, time.monotonic() + seconds
        self.shared, self._cost = {}, {}

    def affords(self, n, calls=1, share=1.0):
        """Whether so many calls on n tokens fit into a share of the time that is left.

        A larger n than any before is taken to cost in proportion to its square, which most attentions do not exceed.
        """
        left = share * (self.end - time.monotonic())
        if n not in self._cost:
            known = max((m for m in self._cost if m < n), default=None)
            if known is not None and self._cost[known] * (n / known) ** 2 > left:
                return False
            self._cost[n] = min(self.attention.seconds(n) for _ in range(2))  # the first call may compile
        return calls * self._cost[n] <= left

    @property
    def by_place(self):
        """Whether the outputs depend on the order of the tokens."""
        if "by place" not in self.shared:
            n = self.length(WIDE)
            q, k, v = self.rng.standard_normal((3, n, self.attention.width))
            order = self.rng.permutation(n)
            out = self.attention(q, k, v)
            moved = self.attention(*(x[order] for x in (q, k, v)))
            self.shared["by place"] = bool(np.abs(moved - out[order]).max() > 100 * self.noise * np.abs(out).max())
        return self.shared["by place"]

    @property
    def noise(self):
        """Relative rounding of the attention's dtype."""
        return {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}[
            self.attention.dtype
        ]

    @property
    def linear_in_values(self):
        """Whether the outputs are weighted sums of the values, so that values of one column show the weights."""
        if "linear" not in self.shared:
            q, k, v = self.random_rows()
            u = self.random_rows()[2]
            whole = self.attention(q, k, u + v)
            parts = self.attention(q, k, u) + self.attention(q, k, v)
            self.shared["linear"] = bool(np.abs(whole - parts).max() <= 1000 * self.noise * np.abs(whole).max())
        return self.shared["linear"]

    def length(self, n):
        """Return n, or where the time is short for so many tokens a number that the attention takes."""
        return n if self.affords(n, 10, share=0.1) else self.attention.length

    def random_rows(self):
        """Return standard normal q, k and v, of an odd length where the attention takes it."""
        n, width = self.attention.length, self.attention.width
        return self.rng.standard_normal((3, 31 if n < 31 else n, width))

    def places(self, n):
        """Return where the mark is put: in the first token, and where places count in five."""
        return [0] if not self.by_place else sorted({round(x * (n - 1)) for x in np.linspace(0, 1, PLACES)})


def data_of(n, width, a, marked=0):
    """Return token data of n tokens with at most four in a class, or more where the width allows no more classes.

    Examples
    --------
    >>> data = data_of(512, 130, Fraction(7, 10))
    >>> data.d, data.t, data_of(512, 40, Fraction(7, 10)).d
    (130, 4, 34)
    """
    classes = 2 ** int(math.log2(max(1, min(width - 2, n // 4))))
    return TokenData(n=n, d=classes + 2, a=a, c=CONSTANT, marked=marked)


def inputs(data, width, factor=1.0):
    """Return q, k and v with which an attention without a scale has the book's scores: q = AX, k = v = A.

    What is wider than the data is filled with zeros, which change no score.
    """
    return _queries_keys_values(data.matrix(np), width, factor)


def _queries_keys_values(A, width, factor=1.0):
    q = factor * np.repeat(A.sum(axis=1, keepdims=True), A.shape[1], axis=1)
    return tuple(np.pad(rows, ((0, 0), (0, width - rows.shape[1]))) for rows in (q, A, A))


def mark_weights(judge, data, factor=1.0, dtype=None):
    """Return the marked token's weight in its own row and its median weight in the others."""
    q, k, _ = inputs(data, judge.attention.width, factor)
    v = np.zeros_like(q)
    v[data.marked, 0] = 1
    column = judge.attention(q, k, v, dtype=dtype)[:, 0]
    return float(column[data.marked]), float(np.median(np.delete(column, data.marked)))


def gain(n, w):
    """Return how many times the mean weight of the others a mark with the weight w has.

    Examples
    --------
    >>> gain(5, 0.5), gain(5, 1.0)
    (4.0, inf)
    """
    return w * (n - 1) / (1 - w) if w < 1 else math.inf


def sees(judge):
    """Sees the mark: its weight as the crowd grows, its gain's growth, and what would repair it."""
    if not judge.linear_in_values:
        return _without_weights("sees", "golden-ratio")
    sizes = _growing_crowd(judge)
    if len(sizes) < 2:
        why = "The weights are not finite, or the time is too short for them."
        return Line("sees", UNJUDGED, why, {}, "golden-ratio")
    judge.shared["sizes"] = [row["n"] for row in sizes]
    last, n = sizes[-1], min(512, sizes[-1]["n"])
    slope = _slope(*(row["gain"] for row in sizes[-2:]))
    if last["least"] >= 0.5 and (slope > 1 or last["weight"] > 1 - 1e-9):
        verdict = YES
    else:
        verdict = PARTLY if last["most"] >= 0.5 or slope > 1 else NO

    def with_strength(a):
        return mark_weights(judge, data_of(n, judge.attention.width, Fraction(a).limit_denominator(10**6)))[0]

    def with_scale(factor):
        return mark_weights(judge, data_of(n, judge.attention.width, STRONG), factor=factor)[0]

    strength, scale = _least_that_wins(with_strength), _least_that_wins(with_scale)
    numbers = {"sizes": sizes, "growth": slope, "n": n, "least strength": strength, "least scale": scale}
    says = f"Among {last['n']} tokens the mark has {_share(last['weight'])} of its own row's weight"
    if judge.by_place:
        says += f" (from {_share(last['least'])} to {_share(last['most'])}, by its place)"
    if math.isfinite(slope):
        says += f"; its gain grows like n^{slope:.2f}, and a crowd of n needs more than n^1"
    says += f". Among {n} it wins half of the weight "
    says += f"from the strength a = {_two(strength)} on" if strength else f"at no strength up to {MOST_FACTOR}"
    if scale is None:
        says += ", and at a = 0.7 no scale of the scores helps."
    elif scale > 1:
        says += f"; at a = 0.7 it would if all scores were {_two(scale)} times as large."
    else:
        says += f"; at a = 0.7 it does even with all scores times {_two(scale)}."
    return Line("sees", verdict, says, numbers, "golden-ratio")


def _growing_crowd(judge):
    """Return the mark's weight among 64 tokens, 128 and so on, as far as a fifth of the time suffices."""
    rows, n = [], 64
    while n <= 2**20 and (n == 64 or judge.affords(n, 3 * len(judge.places(n)), share=0.2)):
        own = [mark_weights(judge, data_of(n, judge.attention.width, STRONG, place))[0] for place in judge.places(n)]
        if not np.isfinite(own).all():
            break
        rows.append({"n": n, "weight": median(own), "least": min(own), "most": max(own), "gain": gain(n, median(own))})
        n *= 2
    return rows


def _slope(before, last):
    """Return the power of n with which a gain grew while n doubled, or NaN where a gain is 0 or infinite."""
    return math.log2(last / before) if 0 < before < math.inf and 0 < last < math.inf else math.nan


MOST_FACTOR = 1024


def _least_that_wins(weight):
    """Return the least number from 1/1024 to 1024 with which a weight is a half, or None if there is none."""

    def wins(x):
        try:
            found = weight(x)
        except Misfit:
            return False
        return bool(np.isfinite(found) and found >= 0.5)

    tried = [2.0**k for k in range(-10, 11)]
    first = next((x for x in tried if wins(x)), None)
    if first is None or first == tried[0]:
        return first
    low, high = first / 2, first
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if wins(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Frequency:
    """How often random networks fired, with an interval that misses the probability once in twenty million cards."""

    rate: float
    low: float
    high: float

    def __str__(self):
        return f"{self.rate:.3f} ± {max(self.high - self.rate, self.rate - self.low):.3f}"


def frequency(outputs, tau, rng, networks=NETWORKS):
    """Draw networks of ten columns and count those that fire.

    Parameters
    ----------
    outputs : sequence of array, shape (n, d)
        Of equally likely inputs.
    tau : float
        The threshold.
    rng : numpy.random.Generator
        Source of the signs.
    networks : int
        How many are drawn.

    Returns
    -------
    Frequency
    """
    hits = 0
    for k, out in enumerate(outputs):
        rows = np.unique(np.round(out, 12), axis=0)
        left, most = len(range(k, networks, len(outputs))), max(1, 4 * 10**6 // (len(rows) * COLUMNS))
        while left > 0:
            drawn = min(most, left)
            above = rows @ signs(rng, rows.shape[1], drawn * COLUMNS, np) > tau * (1 + TIE)
            hits += int(above.reshape(len(rows), drawn, COLUMNS).any(axis=(0, 2)).sum())
            left -= drawn
    return Frequency(hits / networks, *clopper_pearson(hits, networks, ALARM))


def _fired(judge, n, networks=NETWORKS):
    """Return the frequencies on D_0 and on D_1 of n tokens, or None where outputs are not finite."""
    width, found = judge.attention.width, []
    for a in (WEAK, STRONG):
        data = data_of(n, width, a)
        outs = [judge.attention(*inputs(data_of(n, width, a, place), width))[:, : data.d] for place in judge.places(n)]
        if not np.isfinite(outs).all():
            return None
        found.append(frequency(outs, data.tau, judge.rng, networks))
    return found


def _right(wrong, right):
    """Return the verdict on a network that should be silent on one input and fire on the other."""
    if wrong.high <= ERROR and right.low >= 1 - ERROR:
        return YES
    return PARTLY if right.low > wrong.high + 0.5 else NO


def separates(judge):
    """Separates D_0 from D_1: how often a network of ten columns fires on each, beside the exact law of a kernel."""
    n = 512
    while n > 32 and not judge.affords(n, 4 * len(judge.places(n)), share=0.3):
        n //= 2
    found, d = _fired(judge, n), data_of(n, judge.attention.width, STRONG).d
    if found is None:
        return Line("separates", UNJUDGED, f"The outputs for {n} tokens are not finite.", {}, "main-theorem")
    near, first = _nearest(judge, n), _from_which_n(judge, n)
    says = f"At n = {n}, d = {d}, m = {COLUMNS} the network fires on D_0 with probability {found[0]}"
    says += f", on D_1 with {found[1]}."
    if near:
        near["agrees"] = all(on.low <= p <= on.high for on, p in zip(found, near["fires"], strict=True))
        weak, strong = near["fires"]
        says += f" The exact law of the nearest known kernel, {near['kernel']}, has {weak:.4f} and {strong:.4f}: "
        says += "inside both intervals." if near["agrees"] else "this attention does otherwise."
    else:
        says += " No kernel with an exact law has its gains."
    if first:
        says += f" Both errors are at most 10 % from n = {first} on, as far as {n}."
    numbers = {"n": n, "d": d, "m": COLUMNS, "networks": NETWORKS, "nearest": near, "from n": first}
    numbers["fires"] = {name: asdict(on) for name, on in zip(("D_0", "D_1"), found, strict=True)}
    return Line("separates", _right(*found), says, numbers, "main-theorem")


def _from_which_n(judge, most):
    """Return the least power of two from which on, up to `most`, both errors are at most a tenth; None if none is."""
    first, n = None, 32
    while n <= most:
        found = _fired(judge, n, NETWORKS // 4)
        good = found is not None and found[0].rate <= ERROR and found[1].rate >= 1 - ERROR
        first = (first or n) if good else None
        n *= 2
    return first


def _nearest(judge, n):
    """Return the known kernel whose gains are nearest to the measured ones, with its exact law, or None."""
    if not judge.linear_in_values or judge.by_place:
        return None
    width = judge.attention.width
    measured = [gain(n, w) for a in (WEAK, STRONG) for w in mark_weights(judge, data_of(n, width, a))]
    if not all(0 < R < math.inf for R in measured):
        return None
    logs, best = np.log(measured), None
    own = float(logs[2])
    beta, degree = own / (float(STRONG * (1 + STRONG)) * math.log(n)), round(own / math.log1p(float(STRONG)))
    for kernel in ["linear", f"softmax:{beta:.9f}", *([f"polynomial:{degree}"] if degree > 1 else [])]:
        if kernel.startswith("softmax") and beta < 1e-6:
            continue
        laws = [tokens.Law(data_of(n, width, a), Kernel.parse(kernel)) for a in (WEAK, STRONG)]
        weights = [w for law in laws for w in (law.weights().p, law.weights().q)]
        far = float(max(abs(math.log(gain(n, w)) - x) for w, x in zip(weights, logs, strict=True)))
        if best is None or far < best["distance"]:
            short = f"softmax:{beta:.3g}" if kernel.startswith("softmax") else kernel
            name = "softmax" if short == "softmax:1" else short
            best = {"kernel": name, "distance": far, "fires": [law.fires(COLUMNS) for law in laws]}
    return best if best["distance"] <= NEAR else None


def counts(judge):
    """Counts: a quarter of all tokens is marked, or three quarters; the network should fire on the second alone."""
    n = 512
    while n > 64 and not judge.affords(n, 4, share=0.3):
        n //= 2
    width, found, mass = judge.attention.width, [], []
    order = judge.rng.permutation(n)  # where places count, the marked ones are anywhere
    for share in SHARES:
        data = CountData(n=n, d=data_of(n, width, STRONG).d, a=STRONG, c=CONSTANT, share=share)
        out = judge.attention(*_queries_keys_values(data.matrix(np)[order], width))[:, : data.d]
        if not np.isfinite(out).all():
            return Line("counts", UNJUDGED, f"The outputs for {n} tokens are not finite.", {}, "where-linear-wins")
        mass.append(float(np.median(out[:, 0]) / (float(STRONG) * math.sqrt(data.log_n))))
        found.append(frequency([out], data.tau, judge.rng))
    says = (
        f"Where 1/4 of {n} tokens are marked they have {_share(mass[0])} of the weight, where 3/4 are "
        f"{_share(mass[1])}. A network with its threshold midway between linear attention's answers fires with "
        f"probability {found[0]} on the first and {found[1]} on the second."
    )
    numbers = {"n": n, "mass": mass, "fires": {str(x): asdict(on) for x, on in zip(SHARES, found, strict=True)}}
    return Line("counts", _right(*found), says, numbers, "where-linear-wins")


def weights_of(judge, q, k):
    """Return all weights, shape (n, n), from values that are columns of the unit matrix."""
    n, width = len(k), judge.attention.width
    unit = np.pad(np.eye(n), ((0, 0), (0, -n % width)))
    return np.hstack([judge.attention(q, k, unit[:, i : i + width]) for i in range(0, n, width)])[:, :n]


def recalls(judge):
    """Recalls pairs: random keys, each with a value of its own; which share of its value does a key get back?"""
    if not judge.linear_in_values:
        return _without_weights("recalls", "recall")
    width, rows = judge.attention.width, []
    for pairs in (2**k for k in range(2, 10)):
        if not judge.affords(pairs, 4 * -(-pairs // width), share=0.3):
            break
        keys = judge.rng.standard_normal((pairs, width))
        try:
            W = weights_of(judge, keys, keys)
        except Misfit:  # it takes no so short a list
            continue
        if not np.isfinite(W).all():
            break
        loss = float(((W - np.eye(pairs)) ** 2).sum(axis=1).mean() / 2)
        sizes = np.linalg.svd(W, compute_uv=False)
        rank = int((sizes > 100 * judge.noise * pairs * sizes[0]).sum())
        rows.append({"pairs": pairs, "loss": loss, "rank": rank, "floor": float(recall_floor(pairs, max(rank, 1)))})
    if not rows:
        return Line("recalls", UNJUDGED, "The time is too short for it.", {}, "recall")
    last = rows[-1]
    good = list(takewhile(lambda row: row["loss"] <= RECALLED, rows))
    most = good[-1]["pairs"] if good else 0
    verdict = YES if most == last["pairs"] else PARTLY if most >= FEW_PAIRS else NO
    says = (
        f"Of {last['pairs']} pairs with random keys of width {width} it recalls with the loss {last['loss']:.4f}; to "
        f"recall nothing costs about ½. Its weights have rank {last['rank']}, with which no loss is below "
        f"{last['floor']:.4f}. "
    )
    says += f"Up to {most} pairs" if most else "At no number of pairs"
    says += f" the loss is at most {RECALLED}."
    return Line("recalls", verdict, says, {"sizes": rows, "most pairs": most}, "recall")


def selects(judge):
    """Selects or averages: of how many tokens is an output the mean, for random queries and keys and larger scores?"""
    if not judge.linear_in_values:
        return _without_weights("selects", "which-attentions")
    width, n = judge.attention.width, 256
    while n > 32 and not judge.affords(n, 6 * -(-n // width), share=0.3):
        n //= 2
    q, k = judge.rng.standard_normal((2, n, width))
    found = {}
    for factor in (1, 16, 256):
        W = weights_of(judge, factor * q, k)
        with np.errstate(all="ignore"):
            found[factor] = float(np.median(np.abs(W).sum(axis=1) ** 2 / (W**2).sum(axis=1)))
    last = found[256]
    if not math.isfinite(last):
        says = "With scores 256 times as large its weights are not finite."
        return Line("selects", UNJUDGED, says, {}, "which-attentions")
    verdict = YES if last <= 2 else NO if last >= n / 4 else PARTLY
    does = {YES: "selects", NO: "averages, whatever the scores", PARTLY: "neither selects nor averages"}[verdict]
    says = (
        f"An output is the mean of {found[1]:.1f} of {n} random tokens, counted as the inverse of the sum of squared "
        f"weights. With scores 16 times as large it is the mean of {found[16]:.1f}, 256 times of {last:.1f}: it {does}."
    )
    numbers = {"n": n, "tokens": {str(factor): x for factor, x in found.items()}}
    return Line("selects", verdict, says, numbers, "which-attentions")


def numerics(judge):
    """Numerics: row sums, order, lengths, heads, and where fewer digits lose the difference."""
    attention, faults, notes, numbers = judge.attention, [], [], {}
    q, k, v = judge.random_rows()
    if judge.linear_in_values:
        off = float(np.abs(attention(q, k, np.ones_like(v)) - 1).max())
        numbers["row sums off by"] = off
        if off > 1000 * judge.noise:
            faults.append(f"the weights of a row sum to 1 only up to {off:.1g}")
    else:
        faults.append("the outputs are no weighted sums of the values")
    _order(judge, numbers, notes)
    refused = []
    for n in (1, 2, 3, 7, 33, 127):
        x = judge.rng.standard_normal((3, n, attention.width))
        try:
            if not np.isfinite(attention(*x)).all():
                refused.append(n)
        except Misfit:
            refused.append(n)
    numbers["refused lengths"] = refused
    if refused:
        faults.append(f"it takes no {_listed(refused)} tokens")
    if attention.layout != "nd":
        several = np.stack([judge.random_rows() for _ in range(2)], axis=1)
        apart = np.stack([attention(*several[:, h]) for h in (0, 1)])
        off = float(np.abs(attention.heads(*several) - apart).max())
        numbers["heads differ by"] = off
        if off > 1000 * judge.noise * np.abs(apart).max():
            faults.append(f"a head beside another answers otherwise than alone (by {off:.1g})")
    _masks(judge, q, k, v, numbers, faults, notes)
    _fewer_digits(judge, q, k, v, numbers, notes)
    first = f"Not as it should be: {'; '.join(faults)}." if faults else "Rows, lengths and heads are as they should be."
    return Line("numerics", PARTLY if faults else YES, " ".join([first, *notes]), numbers, "your-own-attention")


def _order(judge, numbers, notes):
    """Say on what the places of tokens have an influence."""
    numbers["depends on places"] = judge.by_place
    if not judge.by_place:
        notes.append("Permuted tokens give permuted outputs.")
        return
    n, reach = judge.length(WIDE), set()
    q, k, v = judge.rng.standard_normal((3, n, judge.attention.width))
    before = judge.attention(q, k, v)
    for place in (0, n // 2, n - 1):
        changed = v.copy()
        changed[place] += 1
        moved = np.abs(judge.attention(q, k, changed) - before).max(axis=1) > 1e-6
        reach |= {int(row) - place for row in np.flatnonzero(moved)}
    numbers["later rows only"] = bool(reach) and min(reach) >= 0
    notes.append(
        "It depends on the tokens' places: "
        + (
            "a token sees itself and earlier ones."
            if numbers["later rows only"]
            else "judge its lines with that in mind."
        )
    )


def _masks(judge, q, k, v, numbers, faults, notes):
    """Try a mask of Booleans, where True lets a token take part, under the names that libraries give it."""
    attention = judge.attention
    keep = np.tril(np.ones((len(q), len(k)), bool))
    changed = v.copy()
    changed[-1] += 1  # hidden from all rows but the last
    numbers["mask"] = None
    for name in ("attn_mask", "mask"):
        masked = attention.with_mask(name, keep)
        try:
            moved = np.abs(masked(q, k, changed) - masked(q, k, v)).max(axis=1) > 1e-6
        except Misfit:
            continue
        if not moved.any():
            continue
        numbers["mask"] = "kept" if not moved[:-1].any() else "broken"
        if moved[:-1].any():
            faults.append(f"with {name} (True takes part) hidden tokens still have an influence")
        return
    notes.append("Masks are not judged: it takes none of Booleans, n by n.")


def _fewer_digits(judge, q, k, v, numbers, notes):
    """Compare coarser dtypes with the finest, on random tokens and on the mark's weight in growing crowds."""
    attention = judge.attention
    fine = attention(q, k, v)
    sizes = judge.shared.get("sizes", [])
    for dtype in attention.dtypes[attention.dtypes.index(attention.dtype) + 1 :]:
        try:
            off = float(np.abs(attention(q, k, v, dtype=dtype) - fine).max() / np.abs(fine).max())
        except Misfit:
            numbers[dtype] = None
            notes.append(f"It takes no {dtype}.")
            continue
        lost = None
        for n in sizes:
            data = data_of(n, attention.width, STRONG)
            exact, found = (mark_weights(judge, data, dtype=kind)[0] for kind in (attention.dtype, dtype))
            if not (np.isfinite(found) and abs(math.log(max(found, 1e-300)) - math.log(max(exact, 1e-300))) <= 0.1):
                lost = n
                break
        numbers[dtype] = {"error": off, "loses the mark from": lost}
        if not math.isfinite(off):
            notes.append(f"{dtype} gives what is not finite.")
            continue
        notes.append(
            f"{dtype} is off by {off:.1g} of the largest output"
            + (f", and from n = {lost} on the mark's weight by more than a tenth." if lost else ".")
        )


def _without_weights(name, chapter):
    return Line(
        name,
        UNJUDGED,
        "Its outputs are no weighted sums of the values, so there are no weights to look at.",
        {},
        chapter,
    )


def _share(x):
    """Return a share in words that fit its size.

    Examples
    --------
    >>> _share(0.788842), _share(0.00166)
    ('79 %', '1 in 602')
    """
    if not math.isfinite(x) or x <= 0:
        return f"{x:.3g}"
    return f"{100 * x:.0f} %" if x >= 0.095 else f"1 in {1 / x:.0f}" if x > 1e-9 else f"{x:.1g}"


def _two(x):
    return f"{x:.2g}" if x < 100 else f"{x:.0f}"


def _listed(numbers):
    """Return numbers as a text.

    Examples
    --------
    >>> _listed([1]), _listed([1, 2, 3])
    ('1', '1, 2 or 3')
    """
    head, last = numbers[:-1], numbers[-1]
    return f"{', '.join(map(str, head))} or {last}" if head else str(last)


LINES = {line.__name__: line for line in (sees, separates, counts, recalls, selects, numerics)}
