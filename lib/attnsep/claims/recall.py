"""Recall: the floor of linear attention's squared loss, and what training reaches."""

import math
from functools import cache
from statistics import fmean

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import attend
from attnsep.extensions.recall import REPORTED, recall_floor
from attnsep.learn import table
from attnsep.ledger.framework import at_least, at_most, claim, definition, equal, generator, within

CHAPTER = "recall"


SOURCE = "Next check 3"


definition(
    "def-recall",
    mark="extension",
    source=SOURCE,
    chapter=CHAPTER,
    statement=r"A memory has $n$ pairs: keys $\mathbf{k}_1, \dots, \mathbf{k}_n$ with values $e_1, \dots, e_n$, the "
    r"unit vectors of $\mathbb{R}^n$. A query $\mathbf{q}_j$ asks for the value of $\mathbf{k}_j$, attention answers "
    r"$o_j = \sum_i f_{ji} e_i$, and the loss is $\frac1n \sum_j \frac12 \|e_j - o_j\|^2$. Linear attention with $M$ "
    r"features has the weights $f_{ji} = \langle \psi(\mathbf{q}_j), \psi(\mathbf{k}_i) \rangle / "
    r"\sum_{i'} \langle \psi(\mathbf{q}_j), \psi(\mathbf{k}_{i'}) \rangle$, $\psi(\cdot) \in \mathbb{R}^M$.",
)


def loss(xp, q, k, kernel):
    """Return the loss of a memory whose i-th query asks for the i-th key."""
    units = xp.eye(k.shape[0], dtype=k.dtype)
    wrong = to_numpy(attend(q, k, units, kernel=kernel) - units)
    return float(np.sum(wrong**2)) / (2 * k.shape[0])


@claim(
    "recall-floor",
    mark="extension",
    source=SOURCE,
    level="verified",
    chapter=CHAPTER,
    statement=r"Linear attention with $M \le n$ features has a loss of at least $\frac12\bigl(1 - \frac Mn\bigr)$, "
    r"whatever the keys, the queries and the feature map. It is attained: put the keys into $M$ groups, and let "
    r"$\psi$ be the unit vector of the group.",
    uses=["def-recall"],
    control="the attention has more features, by this",
    violations=(1,),
    tests=(recall_floor, attend),
)
def recall_floor_holds(xp, broken=None):
    rng, more = generator(5410), int(broken or 0)
    for n, features in ((2, 1), (5, 5), (12, 4), (40, 7), (100, 64)):
        floor, reached = float(recall_floor(n, features)), {"n": n, "features": features}
        for kernel in ("linear", "elu+1"):
            q, k = (xp.asarray(rng.uniform(0.1, 2, (n, features))) for _ in range(2))
            yield at_least(loss(xp, q, k, kernel), floor, 1e-12, **reached)
        group = np.eye(features + more)[np.arange(n) % (features + more)]
        yield equal(loss(xp, xp.asarray(group), xp.asarray(group), "linear"), floor, 1e-12, **reached)


@claim(
    "recall-in-the-plane",
    mark="extension",
    source=SOURCE,
    level="verified",
    chapter=CHAPTER,
    statement=r"For softmax with scores $\langle \mathbf{q}, \mathbf{k} \rangle/\sqrt d$, width $d = 2$ is enough for "
    r"every $n$: with $\mathbf{q}_i = \mathbf{k}_i$ evenly spread on a circle around 0 the loss is at most "
    r"$(n-1)^2 \exp\bigl(-\sqrt2\,\|\mathbf{k}_1\|^2(1 - \cos\frac{2\pi}{n})\bigr)$.",
    uses=["def-recall"],
    control="two neighbouring keys have moved together by this share of their distance",
    violations=(1.1e-4, 1.35e-4),
    tests=(attend,),
)
def recall_in_the_plane(xp, broken=None):
    for n in (2, 3, 10, 100):
        for factor in (4, 8, 16):
            angle = 2 * math.pi * np.arange(n) / n
            angle[1] -= (broken or 0) * angle[1]
            gap = 1 - math.cos(2 * math.pi / n)
            r = math.sqrt(math.sqrt(2) * factor / gap)
            k = xp.asarray(r * np.stack([np.cos(angle), np.sin(angle)], axis=1))
            epsilon = (n - 1) * math.exp(-(r**2) * gap / math.sqrt(2))
            yield at_most(loss(xp, k / math.sqrt(2), k, "softmax"), epsilon**2, 1e-6, n=n, r=r)


# Stored runs


@cache
def stored():
    """Return the rows of the book's table."""
    return table.read_rows()


TRAINED, SIZES_REPORTED = (20, 40, 60, 80, 100, 160, 200), 11


FEATURES, ENOUGH = 64, 0.001


# How far above its floor a run of elu+1 ended.
ABOVE = {80: (0.0065, 0.0195)} | dict.fromkeys((100, 160, 200), (0, 0.0015))


# How far our mean for elu+1 is from the reported loss at most, or by how much it exceeds it.
NEAR, EXCESS = {80: 0.0045} | dict.fromkeys((20, 40, 160, 200), 0.0011), {60: 0.0145, 100: 0.0164}


STEPS_RATIO, LEFT_ABOVE = 8, 0.04


def best(kernel, n):
    """Return the best evaluation losses of the stored runs, seed by seed."""
    return table.scores(stored(), "retrieval", test="best", kernel=kernel, pairs=n)


@claim(
    "recall-learnt",
    mark="extension",
    source=SOURCE,
    level="measured",
    chapter=CHAPTER,
    statement=rf"In the stored runs (${FEATURES}$ features, three seeds each) softmax reached a loss of at most "
    rf"${ENOUGH}$ at $n = 20, 40, 60, 80, 100, 160, 200$, and elu+1 at $n = 20, 40$. From $n = 80$ on every run of "
    rf"elu+1 ended above the floor $\frac12(1 - \frac{{{FEATURES}}}n)$: by at most ${ABOVE[100][1]}$ at $n = 100, 160, "
    rf"200$, and by ${ABOVE[80][0]}$ to ${ABOVE[80][1]}$ at $n = 80$.",
    uses=["recall-floor"],
    assumes="training to the stated rule; read from the stored table",
    control="the floor is that of 64 − this features",
    violations=(1,),
    tests=(table.scores, recall_floor),
)
def recall_learnt(xp, broken=None):
    for n in TRAINED:
        yield at_most(max(best("softmax", n)), ENOUGH, n=n)
        if n <= 40:
            yield at_most(max(best("elu+1", n)), ENOUGH, n=n)
        elif n in ABOVE:
            floor = float(recall_floor(n, FEATURES - int(broken or 0)))
            for found in best("elu+1", n):
                yield within(found, *(floor + above for above in ABOVE[n]), n=n)


@claim(
    "recall-reproduces",
    mark="extension",
    source=SOURCE,
    level="measured",
    chapter=CHAPTER,
    statement=rf"Schlag, Irie and Schmidhuber report {SIZES_REPORTED} sizes; we trained at {len(TRAINED)} of them. For "
    rf"softmax their losses and our means at $n = 20, 40, 60, 80, 100, 160, 200$ are all at most ${ENOUGH}$. For elu+1 "
    rf"our mean differs from theirs by at most ${NEAR[20]}$ at $n = 20, 40, 160, 200$ and by at most ${NEAR[80]}$ at "
    rf"$n = 80$. At $n = 60$ and $100$ all three of our losses exceed theirs, on average by ${EXCESS[60]}$ and "
    rf"${EXCESS[100]}$ to four decimals.",
    uses=["recall-learnt"],
    assumes="their losses are reported, not recomputed",
    control="their losses are multiplied by 1 + this",
    violations=(1.6e-4, 1.8e-4),
    tests=(table.scores,),
    coarse=[("7", "it counts the sizes that the statement lists")],
)
def recall_reproduces(xp, broken=None):
    for reported in REPORTED.values():
        yield equal(len(reported), SIZES_REPORTED)
    for n in TRAINED:
        theirs = {kernel: reported[n] * (1 + (broken or 0)) for kernel, reported in REPORTED.items()}
        yield at_most(max(theirs["softmax"], fmean(best("softmax", n))), ENOUGH, n=n)
        ours = best("elu+1", n)
        if n in EXCESS:
            yield at_least(min(ours), theirs["elu+1"], n=n)
            yield equal(round(fmean(ours) - theirs["elu+1"], 4), EXCESS[n], n=n)
        else:
            yield at_most(abs(fmean(ours) - theirs["elu+1"]), NEAR[n], n=n)


@claim(
    "recall-learnt-linear",
    mark="extension",
    source=SOURCE,
    level="measured",
    chapter=CHAPTER,
    statement=r"Every stored run of linear attention without a feature map, $\psi(\mathbf{k}) = \mathbf{k}$ "
    rf"(${FEATURES}$ features, three seeds), reached a loss of ${ENOUGH}$ at $n = 20$, after more than ${STEPS_RATIO}$ "
    rf"times the steps of any run of elu+1. At $n = 100$ every one ended more than ${LEFT_ABOVE}$ above the floor.",
    uses=["recall-floor"],
    assumes="training to the stated rule; read from the stored table",
    # Between two kernels there is no third in the stored table.
    control="elu+1 takes its place",
    violations=(1,),
    tests=(table.scores, recall_floor),
)
def recall_learnt_linear(xp, broken=None):
    kernel = "elu+1" if broken else "linear"
    yield at_most(max(best(kernel, 20)), ENOUGH, n=20)
    steps = {k: table.scores(stored(), "retrieval", test="at", kernel=k, pairs=20) for k in (kernel, "elu+1")}
    yield at_least(min(steps[kernel]), STEPS_RATIO * max(steps["elu+1"]), n=20)
    yield at_least(min(best(kernel, 100)), float(recall_floor(100, FEATURES)) + LEFT_ABOVE, n=100)


MQAR = {4: 0.99, 8: 0.85, 16: 0.5}  # pairs, and above or below what share elu+1 answered


MQAR_SOFTMAX = 0.999


def answered(kernel, n):
    """Return the shares of right answers in the stored MQAR runs, seed by seed."""
    return table.scores(stored(), "mqar", test="all", kernel=kernel, pairs=n)


@claim(
    "mqar-learnt",
    mark="extension",
    source=SOURCE,
    level="measured",
    chapter=CHAPTER,
    statement=r"In the stored MQAR runs (8 features, three seeds each) softmax answered more than a share "
    rf"${MQAR_SOFTMAX}$ of the questions at $n = 4, 8, 16$ pairs; every run of elu+1 more than ${MQAR[4]}$ at $n = 4$, "
    rf"less than ${MQAR[8]}$ at $n = 8$ and less than ${MQAR[16]}$ at $n = 16$.",
    assumes="equal training; read from the stored table",
    # The stored table has no sizes between these.
    control="the runs of elu+1 have n divided by 2 to this",
    violations=(1,),
    tests=(table.scores,),
)
def mqar_learnt(xp, broken=None):
    for n in MQAR:
        yield at_least(min(answered("softmax", n)), MQAR_SOFTMAX, n=n)
        found = answered("elu+1", max(4, n >> int(broken or 0)))
        yield at_least(min(found), MQAR[n], n=n) if n == 4 else at_most(max(found), MQAR[n], n=n)
