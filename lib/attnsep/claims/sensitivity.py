"""How sensitive the separation is: maps of the exact law, one parameter at a time, and a robust region."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import distinct_rows, values
from attnsep.claims.one_query_weights import EPS
from attnsep.claims.token_datasets import A0, A1, GAP, C
from attnsep.extensions.sensitivity import column_map, error_map, fires_map, steps_within, worst
from attnsep.ledger.framework import BESIDE, Case, at_least, at_most, claim, equal, exactly, generator
from attnsep.ledger.sampled import LEVEL, inside_clopper_pearson
from attnsep.paper import tokens
from attnsep.paper.network import signs
from attnsep.paper.tokens import TokenData

CHAPTER = "sensitivity"


PERCENT = 1  # the largest error allowed


LIMIT = PERCENT / 100


# The map


@claim(
    "map-is-the-law",
    mark="extension",
    source="First experiments 3",
    level="computed",
    chapter=CHAPTER,
    statement=r"For softmax and for linear attention the map of $P[F \text{ fires}]$ over $n, d, m, a, c$ and the gap "
    r"of $\tau$ is the exact law at every point, to $10^{-12}$ of its value.",
    uses=["column-law"],
    assumes="checked at 121 points, n up to 10²⁸⁵, most of them drawn at random",
    control="the law of one point has more columns than the map, by this, where the map has 10¹⁰",
    violations=(0, 1),
    tests=(fires_map, tokens.law, tokens.Law.fires),
)
def map_is_the_law(xp, broken=None):
    rng = generator(6300)
    points = [random_point(rng) for _ in range(120)]
    points.append({"n": 2000, "d": 502, "m": 10**10, "a": 0.05, "c": 0.4, "gap": 0.25})
    grid = {name: np.array([point[name] for point in points], dtype=object) for name in points[0]}
    points[-1] = {**points[-1], "m": 10**10 + (broken or 0)}
    for kernel in tokens.KERNELS:
        for point, found in zip(points, fires_map(**grid, kernel=kernel).tolist(), strict=True):
            data = {key: x for key, x in point.items() if key != "m"}
            law = tokens.law(**data, kernel=kernel).fires(point["m"])
            yield equal(found, law, 1e-12, **{key: float(x) for key, x in point.items()})


def random_point(rng):
    """Return parameters that meet every rule of the data, as decimals of two or three digits."""
    d = int(rng.integers(3, 160))
    t = int(rng.integers(1, 9)) if rng.random() < 0.8 else 10 ** int(rng.integers(1, 298))
    a, c, gap = rng.choice([0.0, 0.05, 0.7, 1.0, 1.3, rng.random()]), rng.uniform(0.01, 0.99), rng.uniform(0, 0.5)
    values = {"a": a, "c": c, "gap": gap}
    return {"n": max(2, (d - 2) * t), "d": d, "m": int(rng.integers(1, 40))} | {
        name: round(float(value), 2) for name, value in values.items()
    }


@claim(
    "map-decides-ties",
    mark="extension",
    source="none: about the steps of the law",
    level="computed",
    chapter=CHAPTER,
    statement=r"The map decides ties exactly. Lowering the gap $0.1$ by $10^{-30}$ adds the mass of a tie to $\pi$: "
    r"$\binom{52}{30}/2^{55}$ for softmax at $n=53$, $d=55$, $a=0.75$, $c=0.35$, and "
    r"$\binom{n}{3n/5}/2^{n+1}$ for both attentions at $a=0$, $c=0.5$, $n = d-2 = 10, 20, \dots, 200$.",
    uses=["map-is-the-law", "column-ties"],
    control="c is larger by this, so that nothing ties",
    violations=(1e-20, 0.0001),
    tests=(column_map,),
)
def map_decides_ties(xp, broken=None):
    more, gaps = exactly(broken), [GAP, GAP - Fraction(1, 10**30)]
    pi = column_map(53, 55, 0.75, Fraction(35, 100) + more, gap=gaps)
    yield equal(float(pi[1] - pi[0]), math.comb(52, 30) / 2**55, 1e-12, n=53, d=55)
    for kernel in tokens.KERNELS:
        n = np.arange(10, 201, 10)
        pi = column_map(n, n + 2, 0, C + more, kernel, np.array(gaps)[:, None])
        for length, step in zip(n.tolist(), (pi[1] - pi[0]).tolist(), strict=True):
            mass = math.comb(length, length * 3 // 5) / 2 ** (length + 1)
            yield equal(step, mass, 1e-12, n=length, d=length + 2)


@claim(
    "map-monotone",
    mark="extension",
    source="none: about the shape of the law",
    level="computed",
    chapter=CHAPTER,
    statement=r"For both attentions, all else equal, $P[F \text{ fires}]$ never falls as $m$ rises "
    r"and never rises as the gap of $\tau$ rises.",
    uses=["column-law"],
    assumes="all else equal",
    control="c falls with the gap, by this times as much",
    violations=(0.33, 0.36),
    tests=(column_map, fires_map),
)
def map_monotone(xp, broken=None):
    gap = [Fraction(k, 100) for k in range(41)]
    m = [1, 2, 5, 17, 100, 10**6]
    for (n, d), a, c, kernel in product(((53, 55), (1024, 258), (40, 22)), (0, A0, A1, 2), (C, 0.9), tokens.KERNELS):
        moved = [Fraction(str(c)) - x * exactly(broken) for x in gap]
        pi = column_map(n, d, a, moved, kernel, gap)
        reached = {"n": n, "d": d, "a": float(a), "c": float(c)}
        yield Case(float(np.min(pi[:-1] - pi[1:])), 1e-14, reached)
        yield Case(float(np.min(np.diff(fires_map(n, d, m, a, c, kernel)))), 1e-14, reached)


BASE, COPIES = {"n": 1024, "d": 258, "m": 10, "a": "0.7", "c": "0.5"}, 4


FALLS_AND_RISES = {
    # two neighbouring points between which P falls, then two between which it rises
    "a": (("0.53", "0.54"), ("0.65", "0.66")),
    "c": (("0.44", "0.45"), ("0.42", "0.43")),
    "d": ((200, 201), (204, 205)),  # with a = 0.05 and 4 copies
    "t": ((1, 2), (4, 5)),  # for linear attention
}


def _points(name, pair, further):
    """Return the parameters of two neighbouring points, or of those so many of their steps further on."""
    low, high = map(Fraction, pair)
    moved = [x + further * (high - low) for x in (low, high)]
    if name == "d":
        return BASE | {"d": [int(d) for d in moved], "n": [int(COPIES * (d - 2)) for d in moved], "a": A0}
    if name == "t":
        return BASE | {"n": [int((BASE["d"] - 2) * t) for t in moved], "kernel": "linear"}
    return BASE | {name: moved}


def _moves(name):
    (high, low), (least, most) = FALLS_AND_RISES[name]
    return rf"falls from ${name}={high}$ to ${low}$, rises from ${least}$ to ${most}$"


@claim(
    "map-not-monotone",
    mark="extension",
    source="none: about the shape of the law",
    level="computed",
    chapter=CHAPTER,
    statement=r"In $a$, $c$, $d$ and $t$ the law is not monotone. "
    rf"Let {', '.join(f'${name} = {value}$' for name, value in BASE.items())}, but for the one that moves. "
    rf"For $F_{{\exp}}$, $P[F \text{{ fires}}]$ {_moves('a')}; {_moves('c')}; with $a = {float(A0)}$ and "
    rf"$t = {COPIES}$ it {_moves('d')}. For $F_{{\mathrm{{lin}}}}$ it {_moves('t')}.",
    uses=["map-is-the-law"],
    assumes="each change is 10⁻⁶ at least",
    control="every pair of points lies further on, by this of its steps",
    violations=(0, 1),
    tests=(fires_map,),
)
def map_not_monotone(xp, broken=None):
    for name, pairs in FALLS_AND_RISES.items():
        for pair, way in zip(pairs, (-1, 1), strict=True):
            point = _points(name, pair, broken or 0)
            before, after = fires_map(**point).tolist()
            yield at_least(way * (after - before), 1e-6, n=float(np.max(point["n"])), d=float(np.max(point["d"])))


# One parameter at a time

WORKED = {"n": 1024, "d": 258, "m": 17, "a0": A0, "a1": A1, "c": C, "gap": GAP}


def thousandths(low, high):
    """Return low, low + 1, …, high thousandths, exactly."""
    return [Fraction(k, 1000) for k in range(low, high + 1)]


MOVES = {
    # what moves, along which points, and the first and last of them that keep all four errors at 1 % or less
    "a0": ({"a0": thousandths(0, 400)}, (0, 0.327)),
    "a1": ({"a1": thousandths(600, 3100)}, (0.667, 3.031)),
    "c": ({"c": thousandths(400, 999)}, (0.475, 0.999)),
    "gap": ({"gap": thousandths(50, 200)}, (0.096, 0.148)),
    "m": ({"m": [*range(1, 41)]}, (17, 28)),
    "d": ({"d": [*range(230, 301)], "n": [4 * (d - 2) for d in range(230, 301)]}, (236, 300)),
    "t": ({"n": [256 * t for t in range(1, 101)]}, (256, 25600)),
}


ENDS = {name: ends for name, (_, ends) in MOVES.items()}


@claim(
    "one-parameter-at-a-time",
    mark="extension",
    source="First experiments 3; Next checks 2",
    level="computed",
    chapter=CHAPTER,
    statement=r"From $n = 1024$, $d = 258$, $m = 17$, $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$, gap $0.1$ one parameter "
    rf"moves in steps of $0.001$ or 1. All four errors stay $\le 1\,\%$ for $a_0 \le {ENDS['a0'][1]}$, "
    rf"${ENDS['a1'][0]} \le a_1 \le {ENDS['a1'][1]}$, ${ENDS['c'][0]} \le c \le {ENDS['c'][1]}$, gap "
    rf"${ENDS['gap'][0]}$ to ${ENDS['gap'][1]}$, ${ENDS['m'][0]} \le m \le {ENDS['m'][1]}$, ${ENDS['d'][0]} \le d \le "
    rf"{ENDS['d'][1]}$, ${ENDS['t'][0] // 256} \le t \le {ENDS['t'][1] // 256}$.",
    uses=["map-is-the-law"],
    assumes="t = 4 stays where d moves; one step beyond these ends an error exceeds 1 %, but where c, d, t end",
    control="the limit is larger by this",
    violations=(1.2e-5, 1.5e-5),
    tests=(error_map, steps_within),
)
def one_parameter_at_a_time(xp, broken=None):
    for name, (moved, ends) in MOVES.items():
        line = moved["n" if name == "t" else name]
        start = line.index(WORKED["n" if name == "t" else name])
        found = [float(line[k]) for k in steps_within(error_map(**WORKED | moved), LIMIT + (broken or 0), start)]
        yield Case(0 if found == [*map(float, ends)] else -1, reached={name: found[0]})
        yield Case(0, reached={name: found[1]})


# The robust region

BOX = {"a0": (0, GAP), "a1": (Fraction(65, 100), 2), "c": (Fraction(2, 5), Fraction(99, 100))}


BOX |= {"gap": (Fraction(8, 100), Fraction(2, 5)), "m": (35, 100), "d": (1200, 2400), "t": (1, 10**290)}


# Where the last three errors are largest, and where the first one is.
LOUD = {name: BOX[name][end] for name, end in {"a0": 1, "a1": 1, "c": 0, "gap": 0, "m": 1, "d": 0, "t": 0}.items()}


SHY = LOUD | {name: BOX[name][end] for name, end in {"a1": 0, "gap": 1, "m": 0}.items()}


def _ends(name):
    """Return the two ends of a range of the box, as a statement prints them."""
    return [f"{float(end):g}" for end in BOX[name]]


def with_n(point):
    """Return the arguments of the errors: n = (d − 2)t in place of t."""
    rest = dict(point)
    return {"n": (np.asarray(point["d"], dtype=object) - 2) * rest.pop("t"), **rest}


def draws_inside(rng, k):
    """Return k random points of the box as arrays, corners among them; d is one of a few widths, which saves time."""
    point = {name: [_between(rng, *BOX[name]) for _ in range(k)] for name in ("a0", "a1", "c", "gap")}
    point["m"] = rng.integers(35, 101, k).tolist()
    point["d"] = rng.choice([1200, 1201, 1337, 2400], k).tolist()
    point["t"] = [int(rng.integers(1, 9)) if rng.random() < 0.5 else 10 ** int(rng.integers(0, 291)) for _ in range(k)]
    return {name: np.array(column, dtype=object) for name, column in point.items()}


def _between(rng, low, high):
    """Return an end or a point between them, in thousandths."""
    if rng.random() < 0.3:
        return rng.choice([low, high])
    return Fraction(int(rng.integers(low * 1000, high * 1000 + 1)), 1000)


@claim(
    "robust-region",
    mark="extension",
    source="First experiments 3; Next checks 2",
    level="computed",
    chapter=CHAPTER,
    statement=rf"All four errors are at most ${PERCENT}\,\%$ for all $0 \le a_0 \le {_ends('a0')[1]}$, "
    rf"${_ends('a1')[0]} \le a_1 \le {_ends('a1')[1]}$, ${_ends('c')[0]} \le c < 1$, every gap of $\tau$ from "
    rf"${_ends('gap')[0]}$ to ${_ends('gap')[1]}$, $d \ge {_ends('d')[0]}$, $t \ge 1$, $n = (d-2)t$ "
    rf"and ${_ends('m')[0]} \le m \le {_ends('m')[1]}$.",
    uses=["main-theorem-softmax-fires", "main-theorem-softmax-silent", "main-theorem-linear-silent"],
    assumes="all seven ranges; checked at the bounds' worst corners and at 60 points with d ≤ 2400, n up to 10³⁰⁰",
    control="m is smaller by this at the corner where 35 is the least",
    violations=(1,),
    tests=(tokens.errors, error_map, worst),
)
def robust_region(xp, broken=None):
    if broken is None:
        for point in (LOUD, SHY):
            bound = tokens.errors(**with_n(point) | {"n": point["d"] - 2}, by="bound")
            relevant = bound[1:] if point is LOUD else bound[:1]
            yield at_most(max(relevant), LIMIT, **{name: float(x) for name, x in point.items()})
        inside = draws_inside(generator(6301), 60)
        for number, error in enumerate(worst(error_map(**with_n(inside))).tolist()):
            yield at_most(error, LIMIT, **{name: float(column[number]) for name, column in inside.items()})
    for point in (LOUD, SHY | {"m": SHY["m"] - (broken or 0)}):
        yield at_most(float(worst(error_map(**with_n(point)))), LIMIT, **{key: float(x) for key, x in point.items()})


FAR = 10**290  # copies; the region has no largest t


WALLS = (
    # a corner of the box at one t, the parameter that leaves it, and where to
    (LOUD, "a0", Fraction(2, 5)),
    (SHY | {"t": FAR}, "a1", Fraction(3, 5)),
    (LOUD, "a1", 5),
    (LOUD, "c", Fraction(1, 5)),
    (LOUD, "gap", Fraction(6, 100)),
    (SHY, "gap", Fraction(4, 5)),
    (LOUD, "d", 700),
    (SHY, "m", 34),
    (LOUD, "m", 6000),
)


def _wall(name, t=1):
    """Return where the box is left along a parameter from corners with this t, as a statement prints it."""
    ends = [outside for corner, moved, outside in WALLS if moved == name and corner["t"] == t]
    return "$ or $".join(f"{float(outside):g}" for outside in ends)


def _power(number):
    """Return a power of ten, as a statement prints it."""
    return f"10^{{{len(str(number)) - 1}}}"


@claim(
    "robust-region-walls",
    mark="extension",
    source="First experiments 3; Next checks 2",
    level="computed",
    chapter=CHAPTER,
    statement=r"Each end of a range is needed, but $a_0 = 0$, $c = 1$ and $t = 1$, where the parameter itself ends: "
    rf"from a point of the region one parameter alone brings some error above ${PERCENT}\,\%$. From a corner at $t = "
    rf"1$ these do: $a_0 = {_wall('a0')}$, $a_1 = {_wall('a1', 1)}$, $c = {_wall('c')}$, gap ${_wall('gap')}$, "
    rf"$d = {_wall('d')}$, $m = {_wall('m')}$; and from a corner at $t = {_power(FAR)}$ $a_1 = {_wall('a1', FAR)}$.",
    uses=["robust-region"],
    control="the parameter goes back by this share of the way to the region",
    violations=(0.05, 0.06),
    tests=(error_map, worst),
)
def robust_region_walls(xp, broken=None):
    for corner, name, outside in WALLS:
        value = outside + (corner[name] - outside) * Fraction(broken or 0)
        point = corner | {name: int(value) if name in ("d", "m") else value}
        error = float(worst(error_map(**with_n(point))))
        yield at_least(error, LIMIT, **{name: float(value), "error": error})


# Seeds and parameters at random


NETWORKS = (("a1", "softmax"), ("a0", "softmax"), ("a0", "linear"), ("a1", "linear"))  # as in the four errors


ANYWHERE = {"a0": (0, 0.1), "a1": (0.6, 1.2), "c": (0.3, 0.95), "gap": (0.06, 0.2)}, (20, 61), (5, 31)


ROOMY = {"a0": (0, 0.1), "a1": (0.8, 1.2), "c": (0.8, 0.95), "gap": (0.08, 0.15)}, (40, 61), (20, 31)


def random_instance(rng, ranges, widths, columns):
    """Return random parameters small enough for many matrices, decimals of three digits."""
    d, t, m = int(rng.integers(*widths)), int(rng.integers(1, 4)), int(rng.integers(*columns))
    return {"n": (d - 2) * t, "d": d, "m": m} | {
        name: round(float(rng.uniform(*ends)), 3) for name, ends in ranges.items()
    }


CHOICES, DRAWS = 16, 1000


@claim(
    "random-parameters",
    mark="extension",
    source="First experiments 3; Next checks 1",
    level="sampled",
    chapter=CHAPTER,
    statement=rf"For {CHOICES} random choices of $n, d, m, a_0, a_1, c$ and the gap, some with all four errors at most "
    rf"$1\,\%$ and some not, real matrices of $D_0$ and $D_1$ with {DRAWS} draws of $y$ each fire as often as the map "
    r"says: "
    r"each probability lies in the Clopper–Pearson interval of level $1 - 10^{-9}$ around its frequency.",
    uses=["map-is-the-law", "def-network-tokens", "values-in-closed-form"],
    control="the networks have more columns than the map, by this",
    violations=(2, 3, 6),
    tests=(error_map, TokenData.matrix, values, signs),
    coarse=[("16 1000", BESIDE), ("0.01", "it sorts the choices, and none lies near it"), LEVEL],
)
def random_parameters(xp, broken=None):
    rng, draws, errors = generator(6302), DRAWS, []
    for number in range(CHOICES):
        point = random_instance(rng, *(ROOMY if number % 2 else ANYWHERE))
        law, shape = error_map(**point), {name: point[name] for name in ("n", "d", "c", "gap")}
        error = float(worst(law))
        errors.append(error)
        networks = ((point[name], kernel) for name, kernel in NETWORKS)
        for error_number, (a, kernel) in enumerate(networks):
            data = TokenData(**shape, a=a, marked=int(rng.integers(point["n"])))
            A = data.matrix(xp)
            rows, m = to_numpy(distinct_rows(values(A, A, A, data.X(xp), kernel))[0]), point["m"] + (broken or 0)
            tops = np.max(rows @ signs(rng, data.d, m * draws, np), axis=0).reshape(draws, m)
            # Sums within rounding of the threshold are ties, which do not fire.
            fired = int(np.sum(np.max(tops, axis=1) > data.tau * (1 + 64 * EPS)))
            probability = float(law[error_number] if error_number else 1 - law[0])
            yield inside_clopper_pearson(fired, draws, probability, **point, worst_error=error)
    yield at_most(min(errors), LIMIT)
    yield at_least(max(errors), LIMIT)
