"""The lines of a report card: one function each, which measures one thing about an attention."""

import math
from contextlib import suppress
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
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
from attnsep.reportcard._callables import SPACINGS, Late, Misfit

WEAK, STRONG, CONSTANT, COLUMNS = Fraction(1, 20), Fraction(7, 10), Fraction(1, 2), 10  # a_0, a_1, c and m of the book
ERROR = 0.1  # of a network that separates, or counts
NOTHING = 0.5  # loss of who answers with the mean
RECALLED = 0.05  # loss: in the answers, the right value has all weight but for a third
FACTORS = (1, 16, 256)  # of the scores
ODD = 31  # tokens
PLACED = 1e-5  # share of the outputs that changes with the order, where places count
WRONG_SUM = 1e-4  # a sum of weights that misses 1 by more is no rounding
MASKS = ("attn_mask", "mask")
PAIRS = (4, 16, 64, 128, 256, 512)
FEW_PAIRS = 16  # whoever recalls fewer does not recall
NETWORKS, ROUNDS = 10_000, 10  # drawn for a frequency, in so many rounds
ALARM = 1e-6 / 20  # chance that an interval misses its probability; a card has fewer than twenty
WIDE = 512  # tokens, of which a window does not see all
SIZES = (WIDE, 256, 128, 64)
PLACES = 5  # of the mark, where places count
NEAR = 0.2  # largest difference of the logarithms of gains between an attention and its nearest known kernel
TIE = 64  # roundings: what is above the threshold by fewer is a tie, which does not fire
ROUGH = 0.01  # largest departure of a weighted sum from linear in the values; beyond it are no weights
MOVES = (2.0**-10, 2.0**-26)  # of queries, as shares: a digit of float16, and less than one of float32
TRIES = 3
COARSEST = 0.05  # share of the outputs: a larger step is no rounding, but that of a choice
GRAIN = 1e-6  # largest rounding by which outputs count as equal, and a sum as at the threshold
LARGE = {"float64": 1e4, "float32": 1e4, "float16": 1e3, "bfloat16": 1e4}  # scores, of which an exponential overflows
ABOVE = 1.01  # whoever has more of a row's weight shows that it does not sum to 1
MOST = 8192  # tokens; all weights of so many take half a gigabyte
MOST_COARSE = 4096  # tokens, with fewer digits
LOST = 0.5  # share of a difference that rounding may change
KNOWN = (
    "linear",
    "softmax",
    "squared-relu",
    "taylor",
    "sigmoid",
    "elu+1",
    "sparsemax",
    "entmax",
    "hard",
)  # with exact laws
STEPS = 14  # of a bisection, on a logarithmic scale
YES, NO, PARTLY, UNJUDGED = "yes", "no", "partly", "not judged"


EXPLAINED = {  # a line's chapter
    "sees": "golden-ratio",
    "separates": "main-theorem",
    "counts": "where-linear-wins",
    "recalls": "recall",
    "selects": "which-attentions",
    "numerics": "your-own-attention",
}


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
    """

    name: str
    verdict: str
    says: str
    numbers: dict[str, Any]

    @property
    def chapter(self) -> str:
        """The chapter of the book that explains the line."""
        return EXPLAINED[self.name]


class Judge:
    """An attention, and what the lines find out about it on their way.

    Attributes
    ----------
    attention : Attention
        What is judged.
    rng : numpy.random.Generator
        Source of all draws of the line at work.
    most : int
        Tokens among which the mark is looked for.
    """

    def __init__(self, attention, seed, most):
        self.attention, self.seed, self.most, self.rng = attention, seed, most, np.random.default_rng(seed)
        self.spacing = SPACINGS[attention.dtype]

    def part(self, share):
        """Give what is inside a share of the line's time, and end it where this is spent."""
        return self.attention.budget.part(share)

    def rows(self, n, seed=10**6):
        """Return q, k and v of n tokens: small scores, all of them above 0, which no normaliser turns into noise."""
        q, k, v = np.random.default_rng([self.seed, seed]).standard_normal((3, n, self.attention.width))
        return np.abs(q) / self.attention.width, np.abs(k), v

    @cached_property
    def by_place(self):
        """Whether the outputs depend on the order of the tokens."""
        return first_that_fits(self, (WIDE, 128, self.attention.length), 0.5, self.moves_with_order)

    def moves_with_order(self, n):
        """Whether permuted tokens give other than permuted outputs."""
        q, k, v = self.rows(n)
        order = np.random.default_rng(self.seed).permutation(n)
        out, moved = self.attention(q, k, v), self.attention(q[order], k[order], v[order])
        rounding = 16 * self.noise * n / self.attention.length  # of a sum one by one
        return bool(np.abs(moved - out[order]).max() > max(PLACED, rounding) * np.abs(out).max())

    @cached_property
    def off(self):
        """How far the outputs are from linear in the values, as a share of the largest."""
        (q, k, u), v = self.rows(self.attention.length), self.rows(self.attention.length, 1)[2]
        whole = self.attention(q, k, u + v)
        parts = self.attention(q, k, u) + self.attention(q, k, v)
        return float(np.abs(whole - parts).max() / np.abs(whole).max())

    @cached_property
    def jumps(self):
        """How far the outputs jump where queries move by next to nothing, as a share of the largest.

        Whoever computes with few digits answers in steps.  A quarter of the way bends a smooth function by a 16th as
        much, and one with kinks by a quarter.  A step stays as high.
        """
        (q, k, v), rng = self.rows(self.attention.length), np.random.default_rng([self.seed, 5])
        out = self.attention(q, k, v)

        def bend(move):
            bent = self.attention(q + move, k, v) - 2 * out + self.attention(q - move, k, v)
            return float(np.abs(bent).max() / np.abs(out).max())

        def step(size):
            move = size * q * (rng.standard_normal(q.shape) + rng.standard_normal((len(q), 1)))
            far, near = bend(move), bend(move / 4)
            return near if far / 3 < near <= COARSEST else 0.0

        return max(median(step(size) for _ in range(TRIES)) for size in MOVES)

    @cached_property
    def apart(self):
        """Whether a column of the values moves the same column of the outputs alone."""
        q, k, v = self.rows(self.attention.length)
        before = self.attention(q, k, v)
        v[:, 0] += 1
        moved = np.abs(self.attention(q, k, v) - before).max(axis=0)
        return bool(moved[1:].max() <= max(ROUGH, 8 * self.spacing) * moved[0])

    @property
    def linear_in_values(self):
        """Whether the outputs are weighted sums of the values, so that values of one column show the weights."""
        return self.off <= max(ROUGH, 8 * self.spacing) and self.apart

    @property
    def inside(self):
        """How far what should be equal differs: in sums of values, and where queries move by next to nothing."""
        return max(self.off, self.jumps)

    @property
    def noise(self):
        """Relative rounding of the outputs: that of the dtype, or more where it computes with fewer digits inside."""
        return max(self.spacing, self.inside / 8) if self.linear_in_values else self.spacing

    def odd_rows(self, seed=2):
        """Return q, k and v of an odd number of tokens, where the attention takes it."""
        return self.rows(max(self.attention.length, ODD), seed)

    def places(self, n):
        """Return where the mark is put: in the first token, and where places count in five."""
        return [0] if not self.by_place else sorted({round(x * (n - 1)) for x in np.linspace(0, 1, PLACES)})


def first_that_fits(judge, sizes, share, work):
    """Return the result of the work on the first number of tokens for which time and attention suffice.

    Raises
    ------
    Late, Misfit
        If they suffice for none: of the time, or what the attention said of the last one.
    """
    reason = Late()
    for n in sizes:
        with judge.part(share):
            try:
                return work(n)
            except Misfit as error:
                reason = error
    raise reason


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
        return _without_weights("sees", judge)
    sizes = _growing_crowd(judge)
    if len(sizes) < 2:
        why = "For 128 tokens there are no weights: the time is too short, it takes fewer, or they are not finite."
        return Line("sees", UNJUDGED, why, {})
    last, n = sizes[-1], min(WIDE, sizes[-1]["n"])
    if last["most"] > ABOVE:
        why = f"The weights of a row do not sum to 1, so there are no shares: among {last['n']} tokens the mark alone "
        return Line("sees", UNJUDGED, f"{why}has the weight {last['most']:.3g}.", {"sizes": sizes})
    slope = _slope(*(row["gain"] for row in sizes[-2:]))
    if last["least"] >= 0.5 and (slope > 1 or last["weight"] > 1 - 1e-9):
        verdict = YES
    else:
        verdict = PARTLY if last["most"] >= 0.5 or slope > 1 else NO

    width, middle = judge.attention.width, n // 2 if judge.by_place else 0

    def with_strength(a):
        return mark_weights(judge, data_of(n, width, Fraction(a).limit_denominator(10**6), middle))[0]

    def with_scale(factor):
        return mark_weights(judge, data_of(n, width, STRONG, middle), factor=factor)[0]

    numbers = {"sizes": sizes, "growth": slope, "n": n}
    for name, weight, share in (("least scale", with_scale, 0.5), ("least strength", with_strength, 1)):
        with judge.part(share):
            numbers[name] = _least_that_wins(weight)
    says = f"Among {last['n']} tokens the mark has {_share(last['weight'])} of its own row's weight"
    if judge.by_place and _share(last["least"]) != _share(last["most"]):
        says += f" (from {_share(last['least'])} to {_share(last['most'])}, by its place)"
    if math.isfinite(slope):
        power = f"{slope:.2f}".replace("-0.00", "0.00")
        says += f"; its gain grows like n^{power}, and a crowd of n needs more than n^1"
    says += f". {_wins(n, numbers)}"
    return Line("sees", verdict, says, numbers)


def _wins(n, numbers):
    """Return with which strength, and with which scale, the mark has half of the weight among n tokens."""
    if not {"least scale", "least strength"} <= numbers.keys():
        return "The time was too short to look for the strength and the scale with which it wins half of the weight."
    strength, scale = numbers["least strength"], numbers["least scale"]
    says = f"Among {n} it wins half of the weight "
    says += f"from the strength a = {_two(strength)} on" if strength else f"at no strength up to {MOST_FACTOR}"
    if scale is None:
        return f"{says}, and at a = 0.7 no scale of the scores helps."
    if scale > 1:
        return f"{says}; at a = 0.7 it would if all scores were {_two(scale)} times as large."
    return f"{says}; at a = 0.7 it does even with all scores times {_two(scale)}."


def _growing_crowd(judge):
    """Return the mark's weight among 64 tokens, 128 and so on, as far as half of the time suffices."""
    rows, n = [], 64
    with judge.part(0.5):
        while n <= judge.most:
            places = sorted({*judge.places(n), n - 1})  # two calls at least: the first one may compile
            try:
                own = [mark_weights(judge, data_of(n, judge.attention.width, STRONG, at))[0] for at in places]
            except Misfit:  # it takes no more tokens
                if not rows:
                    raise
                break
            if not np.isfinite(own).all():
                break
            w = median(own)
            rows.append({"n": n, "weight": w, "least": min(own), "most": max(own), "gain": gain(n, w)})
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
    networks: int

    def __str__(self):
        return f"{self.rate:.3f} ± {max(self.high - self.rate, self.rate - self.low):.3f}"


def frequency(judge, outputs, tau, share=1):
    """Draw networks of ten columns and count those that fire, in ten rounds, of which the first is always done.

    Parameters
    ----------
    judge : Judge
        Source of the signs, and of the time.
    outputs : sequence of array, shape (n, d)
        Of equally likely inputs.
    tau : float
        The threshold.
    share : int
        One of so many of the usual number is drawn.

    Returns
    -------
    all : Frequency
    rates : list of float
        On each input.
    """
    grain = min(judge.noise, GRAIN)
    digits = int(-math.log10(4 * grain * max(1.0, *(np.abs(out).max() for out in outputs))))
    distinct = [np.unique(np.round(out, digits), axis=0) for out in outputs]  # most rows are alike
    hits, drawn = np.zeros(len(outputs), int), 0
    each = max(1, NETWORKS // (share * ROUNDS * len(outputs)))
    for done in range(ROUNDS):
        if done and judge.attention.budget.left() <= 0:
            break
        for k, rows in enumerate(distinct):
            above = rows @ signs(judge.rng, rows.shape[1], each * COLUMNS, np) > tau * (1 + TIE * grain)
            hits[k] += int(above.reshape(len(rows), each, COLUMNS).any(axis=(0, 2)).sum())
        drawn += each
    total = drawn * len(outputs)
    whole = Frequency(float(hits.sum() / total), *clopper_pearson(int(hits.sum()), total, ALARM), total)
    return whole, (hits / drawn).tolist()


def _fired(judge, n, share=1):
    """Return frequency and rates by place on D_0 and on D_1 of n tokens, or None where outputs are not finite."""
    width, found = judge.attention.width, []
    for a in (WEAK, STRONG):
        data = data_of(n, width, a)
        outs = [judge.attention(*inputs(data_of(n, width, a, place), width))[:, : data.d] for place in judge.places(n)]
        if not np.isfinite(outs).all():
            return None
        found.append(frequency(judge, outs, data.tau, share))
    return found


def _right(wrong, right):
    """Return the verdict on a network that should be silent on one input and fire on the other."""
    if wrong.high <= ERROR and right.low >= 1 - ERROR:
        return YES
    return PARTLY if right.low > wrong.high + 0.5 else NO


def separates(judge):
    """Separates D_0 from D_1: how often a network of ten columns fires on each, beside the exact law of a kernel."""
    n, found = first_that_fits(judge, SIZES, 0.5, lambda n: (n, _fired(judge, n)))
    d = data_of(n, judge.attention.width, STRONG).d
    if found is None:
        return Line("separates", UNJUDGED, f"The outputs for {n} tokens are not finite.", {})
    (weak, weak_rates), (strong, strong_rates) = found
    near, first = None, None
    with judge.part(0.5):
        near = _nearest(judge, n)
    with judge.part(1):
        first = _from_which_n(judge, n, found)
    says = f"At n = {n}, d = {d}, m = {COLUMNS} the network fires on D_0 with probability {weak}"
    says += f", on D_1 with {strong}"
    if len(strong_rates) > 1:
        says += f" (on D_1 from {min(strong_rates):.3f} to {max(strong_rates):.3f}, by the mark's place)"
    says += "."
    if near:
        near["agrees"] = all(on.low <= p <= on.high for on, p in zip((weak, strong), near["fires"], strict=True))
        says += f" The exact law of the nearest known kernel, {near['kernel']}, has {near['fires'][0]:.4f} and "
        says += f"{near['fires'][1]:.4f}: " + ("inside both intervals." if near["agrees"] else "not inside both.")
    else:
        says += " No kernel with an exact law has its gains."
    if first:
        says += f" Both errors are at most 10 % from n = {first} on, as far as {n}."
    numbers = {"n": n, "d": d, "m": COLUMNS, "networks": weak.networks, "nearest": near, "from n": first}
    numbers |= {"fires": {"D_0": asdict(weak), "D_1": asdict(strong)}}
    numbers |= {"by place": {"D_0": weak_rates, "D_1": strong_rates} if len(strong_rates) > 1 else None}
    return Line("separates", _right(weak, strong), says, numbers)


def _from_which_n(judge, most, found):
    """Return the least of 64, 128, … from which on, up to `most`, both errors are at most a tenth, or None."""
    first, n = None, most
    while found is not None and found[0][0].rate <= ERROR and found[1][0].rate >= 1 - ERROR:
        first, n = n, n // 2
        if n < 64:
            break
        try:
            found = _fired(judge, n, 4)
        except Late:
            break
    return first


def _nearest(judge, n):
    """Return the known kernel whose gains are nearest to the measured ones, with its exact law, or None."""
    if not judge.linear_in_values or judge.by_place:
        return None
    width = judge.attention.width
    data = [data_of(n, width, a) for a in (WEAK, STRONG)]
    measured = [_log_gain(n, w) for on in data for w in mark_weights(judge, on)]
    beta = measured[2] / (float(STRONG * (1 + STRONG)) * math.log(n))
    degree = round(measured[2] / math.log1p(float(STRONG)))
    known = [*KNOWN, *([f"softmax:{beta:.9f}"] if 1e-6 < beta < 100 else [])]
    known += [f"polynomial:{degree}"] if 1 < degree < 100 else []
    best = None
    for kernel in known:
        laws = [tokens.Law(on, Kernel.parse(kernel)) for on in data]
        weights = [w for law in laws for w in (law.weights().p, law.weights().q)]
        far = max(abs(_log_gain(n, w) - x) for w, x in zip(weights, measured, strict=True))
        if best is None or far < best["distance"] - 1e-6:
            short = f"softmax:{beta:.3g}" if kernel.startswith("softmax:") else kernel
            best = {"kernel": short, "distance": far, "laws": laws}
    if best["distance"] > NEAR:
        return None
    return best | {"fires": [law.fires(COLUMNS) for law in best.pop("laws")]}


def _log_gain(n, w):
    """Return the logarithm of a gain, cut where the weight is 0 or 1 but for rounding."""
    return math.log(min(max(gain(n, w), 1e-9), 1e9))


def counts(judge):
    """Counts: a quarter of all tokens is marked, or three quarters; the network should fire on the second alone."""
    return first_that_fits(judge, SIZES, 0.7, lambda n: _counted(judge, n))


def _counted(judge, n):
    width, found, mass, spread = judge.attention.width, [], [], []
    orders = [judge.rng.permutation(n) for _ in range(PLACES if judge.by_place else 1)]  # the marked ones are anywhere
    for share in SHARES:
        data = CountData(n=n, d=data_of(n, width, STRONG).d, a=STRONG, c=CONSTANT, share=share)
        A = data.matrix(np)
        outs = [judge.attention(*_queries_keys_values(A[order], width))[:, : data.d] for order in orders]
        if not np.isfinite(outs).all():
            return Line("counts", UNJUDGED, f"The outputs for {n} tokens are not finite.", {})
        seen = np.stack(outs)[:, :, 0] / (float(STRONG) * math.sqrt(data.log_n))
        mass.append(float(np.median(seen)))
        spread.append((float(seen.min()), float(seen.max())))
        found.append(frequency(judge, outs, data.tau)[0])
    about = [
        f"{_share(m)} of the weight"
        + (f" (from {_share(low)} to {_share(high)}, by row)" if judge.by_place and _share(low) != _share(high) else "")
        for m, (low, high) in zip(mass, spread, strict=True)
    ]
    says = (
        f"Where 1/4 of {n} tokens are marked they have {about[0]}, where 3/4 are {about[1]}. A network with its "
        f"threshold midway between linear attention's answers fires with probability {found[0]} on the first and "
        f"{found[1]} on the second."
    )
    numbers = {"n": n, "mass": mass, "spread": spread}
    numbers |= {"fires": {str(x): asdict(on) for x, on in zip(SHARES, found, strict=True)}}
    return Line("counts", _right(*found), says, numbers)


def weights_of(judge, q, k, attention=None):
    """Return all weights, shape (n, n), from values that are columns of the unit matrix."""
    n, width, attention = len(k), judge.attention.width, attention or judge.attention
    unit = np.pad(np.eye(n), ((0, 0), (0, -n % width)))
    return np.hstack([attention(q, k, unit[:, i : i + width]) for i in range(0, n, width)])[:, :n]


def _recalled(judge, keys):
    """Return the weights and the mean loss of the questions for all keys."""
    W = weights_of(judge, keys, keys)
    return W, float(((W - np.eye(len(keys))) ** 2).sum(axis=1).mean() / 2)


def recalls(judge):
    """Recalls pairs: random keys, each with a value of its own; which share of its value does a key get back?"""
    if not judge.linear_in_values:
        return _without_weights("recalls", judge)
    width, rows, reason = judge.attention.width, [], "The time is too short for it."
    with judge.part(1):
        for pairs in PAIRS:
            keys = judge.rng.standard_normal((pairs, width))
            try:
                W, loss = _recalled(judge, keys)
                if not loss <= NOTHING:  # weights of both signs, whose sum may be nearly 0
                    W, loss = min(
                        (W, loss), _recalled(judge, np.abs(keys)), key=lambda found: (found[1] != found[1], found[1])
                    )
            except Misfit as error:  # it takes no so short a list
                reason = f"It could not be judged: {error}."
                continue
            if not math.isfinite(loss):
                reason = f"The weights of {pairs} pairs are not finite."
                break
            sizes = np.linalg.svd(W, compute_uv=False)
            rank = int((sizes > min(100 * judge.noise * pairs, ROUGH) * sizes[0]).sum())
            rows.append({"pairs": pairs, "loss": loss, "rank": rank, "floor": float(recall_floor(pairs, max(rank, 1)))})
    if not rows:
        return Line("recalls", UNJUDGED, reason, {})
    last = rows[-1]
    good = list(takewhile(lambda row: row["loss"] <= RECALLED, rows))
    most = good[-1]["pairs"] if good else 0
    verdict = YES if most == last["pairs"] else PARTLY if most >= FEW_PAIRS else NO
    says = (
        f"Of {last['pairs']} pairs with random keys of width {width} it recalls with the loss {last['loss']:.4f}; to "
        f"recall nothing costs about ½. Its weights have rank {last['rank']}, with which no loss is below the floor "
        f"{last['floor']:.4f}; it is {last['loss'] - last['floor']:.4f} above. "
    )
    says += f"Up to {most} pairs" if most else "At no number of pairs"
    says += f" the loss is at most {RECALLED}."
    return Line("recalls", verdict, says, {"sizes": rows, "most pairs": most})


def _tokens_in_a_mean(judge, n):
    """Return of how many tokens the median output is the mean, for scores of the sizes FACTORS."""
    q, k = judge.rng.standard_normal((2, n, judge.attention.width))
    found = {}
    for factor in FACTORS:
        W = weights_of(judge, factor * q, k)
        with np.errstate(all="ignore"):
            found[factor] = float(np.median(np.abs(W).sum(axis=1) ** 2 / (W**2).sum(axis=1)))
    return found


def selects(judge):
    """Selects or averages: of how many tokens is an output the mean, for random queries and keys and larger scores?"""
    if not judge.linear_in_values:
        return _without_weights("selects", judge)
    n, found = first_that_fits(judge, SIZES[1:], 0.7, lambda n: (n, _tokens_in_a_mean(judge, n)))
    last = found[256]
    if not math.isfinite(last):
        says = "With scores 256 times as large its weights are not finite."
        return Line("selects", UNJUDGED, says, {})
    verdict = YES if last <= 2 else NO if last >= n / 4 else PARTLY
    does = {YES: "selects", NO: "averages, whatever the scores", PARTLY: "neither selects nor averages"}[verdict]
    says = (
        f"An output is the mean of {found[1]:.1f} of {n} random tokens, counted as the inverse of the sum of squared "
        f"weights. With scores 16 times as large it is the mean of {found[16]:.1f}, 256 times of {last:.1f}: it {does}."
    )
    numbers = {"n": n, "tokens": {str(factor): x for factor, x in found.items()}}
    return Line("selects", verdict, says, numbers)


def numerics(judge):
    """Numerics: row sums, order, lengths, heads, and where fewer digits lose the difference."""
    about = Numerics(judge)
    tried = (about.rows, about.order, about.lengths, about.heads, about.masks, about.digits)
    late, open_ = [], []
    for index, part in enumerate(tried):
        done = False
        with judge.part(1 / (len(tried) - index)):
            try:
                part()
            except Misfit as error:
                open_.append(f"Its {part.__name__} could not be judged: {error}.")
            done = True
        if not done:
            late.append(part.__name__)
    if late:
        open_.append(f"The time was too short for all about {' and '.join(late)}.")
    faults, verdict = about.faults, YES
    first = "Rows, order, lengths and heads are as they should be."
    if faults:
        verdict, first = PARTLY, f"Not as it should be: {'; '.join(faults)}."
    elif open_:
        verdict, first = UNJUDGED, "No fault was found, but not all was looked at."
    return Line("numerics", verdict, " ".join([first, *open_, *about.notes]), about.numbers)


class Numerics:
    """What is found out about an attention's numbers: faults, notes, and the numbers themselves."""

    def __init__(self, judge):
        self.judge, self.attention = judge, judge.attention
        self.faults, self.notes, self.numbers = [], [], {}
        self.q, self.k, self.v = judge.odd_rows()

    def rows(self):
        """Whether the outputs are weighted sums, with weights that sum to 1 whatever the scores, and their digits."""
        judge, numbers = self.judge, self.numbers
        if not judge.linear_in_values:
            self.faults.append(_no_weights(judge))
            return
        q, k, width = self.q, self.k, self.attention.width
        off = numbers["row sums off by"] = max(self._off(factor * q, k).max() for factor in (1, width))
        said = f"of {len(q)} tokens the weights of a row sum to 1 only up to"
        if not off <= self._enough:
            self.faults.append(f"{said} {off:.1g}")
        else:
            signed = numbers["row sums off by, scores of both signs"] = self._off_with_both_signs()
            if not signed <= self._enough:
                self.faults.append(f"where scores have both signs, {said} {signed:.1g}")
        if not np.isfinite(self._off(LARGE[self.attention.dtype] / (q @ k.T).max() * q, k)).all():
            self.faults.append(f"scores of {LARGE[self.attention.dtype]:,.0f} make its outputs NaN or inf")
        inside = numbers["rounding inside"] = judge.inside
        if inside > max(64 * judge.spacing, SPACINGS["float32"] / 64):
            single = inside <= 16 * SPACINGS["float32"]
            like = "float32" if single else "float16 or bfloat16"
            says = f"inside it computes with about the digits of {like}: what should be equal differs by {inside:.1g}"
            self.notes.append(f"I{says[1:]}.") if single else self.faults.append(says)
        elif off > 64 * judge.spacing and off <= self._enough:
            self.notes.append(f"The weights of a row sum to 1 up to {off:.1g}.")

    @property
    def _enough(self):
        """By how much a sum of weights may miss 1."""
        return max(WRONG_SUM, 64 * self.judge.noise)

    def _off(self, q, k):
        """Return by how much the weights of each row miss the sum 1."""
        return np.abs(self.attention(q, k, np.ones_like(self.v)) - 1).max(axis=1)

    def _off_with_both_signs(self):
        """Return by how much a row in the middle misses the sum 1: where scores cancel, few digits are left."""
        q, k = np.random.default_rng([self.judge.seed, 6]).standard_normal((2, *self.q.shape))
        return float(np.nanmedian(self._off(q / math.sqrt(self.attention.width), k)))

    def order(self):
        """Say whether places count, and how far a token sees."""
        judge, numbers = self.judge, self.numbers
        numbers["depends on places"] = judge.by_place
        if not judge.by_place:
            self.notes.append("Permuted tokens give permuted outputs.")
            return
        n, reach = first_that_fits(judge, (*SIZES, self.attention.length), 0.5, lambda n: (n, self._reach(n)))
        found = [self._how_far(n, reach, sign) for sign in (1, -1)]
        (back, before, _), (ahead, after, _) = found
        itself = numbers["sees itself"] = all(0 in rows for rows in reach.values() if rows)
        numbers |= {"sees back": back, "sees ahead": ahead}
        says = f"Places count: of {n} a token sees {'' if itself else 'not '}itself, {before} before it "
        differs = any(by_place for *_, by_place in found)
        end = ", by its place" if differs else _in_all(back, ahead, itself, n)
        self.notes.append(f"{says}and {after} after it{end}.")
        if 1 in (back, ahead) and back != ahead:
            self.faults.append(f"it looks one token {'ahead' if ahead == 1 else 'back'}, as with a mask off by one")
        elif abs(back - ahead) == 1 and min(back, ahead) > 0:
            self.notes.append("One side has one more: is the window of an even width, or off by one?")
        unseen = [place + 1 for place, rows in reach.items() if not rows]
        if unseen and itself:
            self.faults.append(f"no token sees the token {_listed(unseen)} of {n}, itself included")

    def _reach(self, n):
        """Return how many places behind a token the rows stand that it changes, for five tokens, by their place."""
        q, k, v = self.judge.rows(n)
        before, reach = self.attention(q, k, v), {}
        least = max(1e-6 * n, 64 * self.judge.noise * np.abs(before).max())
        for place in (0, n // 4, n // 2, n // 2 + 7, n - 1):
            changed = v.copy()
            changed[place] += n
            moved = np.abs(self.attention(q, k, changed) - before).max(axis=1) > least
            reach[place] = [int(row) - place for row in np.flatnonzero(moved)]
        return reach

    @staticmethod
    def _how_far(n, reach, sign):
        """Return how far a token sees on one side at most, the same in words, and whether it differs by place."""
        room = {place: n - 1 - place if sign > 0 else place for place in reach}
        far = {place: max([0, *(sign * row for row in rows)]) for place, rows in reach.items()}
        most, inner = max(far.values()), [far[place] for place in reach if far[place] < room[place]]
        if not inner or most == 0:
            return most, "all tokens" if not inner else "no token", False
        words = "all tokens" if most == n - 1 else f"{most} token{'s' if most > 1 else ''}"
        least = min(inner)
        return (most, f"from {least} to {words}", True) if least < most else (most, f"at most {words}", False)

    def lengths(self):
        """Try numbers of tokens that are not even, or few: whether they are taken, sum to 1 and have no order."""
        refused, wrong = [], {}
        for n in (1, 3, 33, 127):
            q, k, v = self.judge.rows(n)
            try:
                off = np.abs(self.attention(q, k, np.ones_like(v)) - 1).max()
            except Misfit:
                off = math.nan
            if not math.isfinite(off):
                refused.append(n)
            elif self.judge.linear_in_values and off > self._enough:
                wrong[n] = off
        self.numbers["refused lengths"] = refused
        if refused:
            self.faults.append(f"it takes no {_listed(refused)} token{'' if refused == [1] else 's'}")
        if wrong and self.numbers.get("row sums off by", math.inf) <= self._enough:
            off = max(wrong.values())
            self.faults.append(f"of {_listed([*wrong])} tokens the weights of a row sum to 1 only up to {off:.1g}")
        if not self.judge.by_place and 127 not in refused and self.judge.moves_with_order(127):
            self.faults.append("among 127 tokens places count, among others they do not")

    def heads(self):
        """Whether a head beside another, and a prompt beside another, answers as alone."""
        if self.attention.layout == "nd":
            return
        several = np.stack([self.judge.odd_rows(seed) for seed in (3, 4)], axis=1)
        apart = np.stack([self.attention(*several[:, h]) for h in (0, 1)])
        for what, together in (("head", self.attention.heads), ("prompt", self.attention.batches)):
            try:
                off = float(np.abs(together(*several) - apart).max() / np.abs(apart).max())
            except Misfit:
                self.notes.append(f"It takes one {what} alone.")
                continue
            self.numbers[f"{what}s differ by"] = off
            if not off <= 100 * self.judge.noise:
                self.faults.append(f"a {what} beside another answers otherwise than alone (by {off:.1g})")

    def masks(self):
        """Try a mask of Booleans under the names that libraries give it: is a weight 0 exactly where it hides?"""
        judge, numbers = self.judge, self.numbers
        numbers["mask"] = None
        n = len(self.q)
        keep = np.tril(np.ones((n, n), bool))
        if judge.linear_in_values:
            for name in MASKS:
                masked = self.attention.with_mask(name, keep)
                with suppress(Misfit):
                    W = weights_of(judge, self.q, self.k, masked)
                    bare = weights_of(judge, self.q, self.k)
                    if np.abs(W - bare).max() <= 1e-6:  # it takes the name, and does not look
                        continue
                    seen = np.abs(W) > 1e-9
                    if np.array_equal(seen, keep):
                        numbers["mask"] = f"{name}: True takes part"
                    elif np.array_equal(seen[:-1], ~keep[:-1]):
                        numbers["mask"] = f"{name}: True hides"
                    else:
                        numbers["mask"] = f"{name}: broken"
                        self.faults.append(f"with {name} weights are not 0 exactly where it hides tokens")
                        return
                    self.notes.append(f"It keeps a mask, {numbers['mask']}.")
                    return
        self.notes.append("Masks are not judged: it takes none of Booleans, n by n.")

    def digits(self):
        """Compare coarser dtypes with the finest: on random tokens, and on the difference between D_0 and D_1."""
        attention = self.attention
        fine = attention(self.q, self.k, self.v)
        coarser = attention.dtypes[attention.dtypes.index(attention.dtype) + 1 :]
        if not coarser:
            self.notes.append("It is judged in one dtype, so fewer digits are not.")
        for index, dtype in enumerate(coarser):
            with self.judge.part(1 / (len(coarser) - index)):
                try:
                    coarse = attention(self.q, self.k, self.v, dtype=dtype)
                except Misfit:
                    self.numbers[dtype] = None
                    self.notes.append(f"It takes no {dtype}.")
                    continue
                off = float(np.abs(coarse - fine).max() / max(np.abs(fine).max(), np.finfo(float).tiny))
                self.numbers[dtype] = {"error": off}
                if not math.isfinite(off):
                    self.notes.append(f"{dtype} gives what is not finite.")
                    continue
                self.notes.append(f"{dtype} is off by {off:.1g} of the largest output{self._loses(dtype)}.")

    def _loses(self, dtype):
        """Return from which n the difference between D_0 and D_1 is lost in this dtype, or how far it is kept."""
        kept, lost, n = None, None, 64
        with self.judge.part(1):
            while n <= min(MOST_COARSE, self.judge.most) and not lost:
                fine, coarse = (_difference(self.judge, n, kind) for kind in (self.attention.dtype, dtype))
                good = np.linalg.norm(coarse - fine) <= LOST * np.linalg.norm(fine)  # of a NaN it is false
                kept, lost, n = (n, None, 2 * n) if good else (kept, n, n)
        self.numbers[dtype] |= {"keeps the difference to": kept, "loses the difference from": lost}
        if lost:
            return f", and from n = {lost} on loses the difference between D_0 and D_1"
        return f" and keeps the difference between D_0 and D_1 as far as n = {kept}" if kept else ""


def _difference(judge, n, dtype):
    """Return the output on D_1 minus the output on D_0, for the same n, computed in a dtype."""
    width = judge.attention.width
    outs = [judge.attention(*inputs(data_of(n, width, a), width), dtype=dtype) for a in (WEAK, STRONG)]
    return outs[1] - outs[0]


def _no_weights(judge):
    """Return why values of one column do not show the weights."""
    if judge.apart:
        return "the outputs are no weighted sums of the values"
    return "the outputs mix the columns of the values, as projections do: give what lies between the projections"


def _without_weights(name, judge):
    return Line(name, UNJUDGED, f"There are no weights to look at: {_no_weights(judge)}.", {})


def _in_all(back, ahead, itself, n):
    """Return of how many tokens a window consists.

    Examples
    --------
    >>> _in_all(15, 0, True, 512), _in_all(511, 0, True, 512)
    (': 16 in all', '')
    """
    return "" if max(back, ahead) >= n // 4 else f": {back + ahead + itself} in all"


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
    return f"{x:.2g}" if x < 99.5 else f"{x:.0f}"


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
