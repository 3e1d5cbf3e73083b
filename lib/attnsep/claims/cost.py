"""What softmax and linear attention cost: multiply-adds, and the measurement that is stored with the library."""

import math
from functools import cache

from attnsep.attention.attend import PLAIN
from attnsep.attention.kernels import PAIR
from attnsep.bench import cost
from attnsep.ledger.framework import Case, at_most, claim, equal, generator, to_digits, within

CHAPTER = "cost"


SOURCE = "Design tradeoffs, Failure signatures"


ONE_MACHINE = "one machine on one day, the library's NumPy path; read from the stored file"


WIDTHS = (34, 66, 130)


LARGE = (4096, 8192, 16384)


# The most that softmax takes in the geometric mean over LARGE and WIDTHS, as long as PyTorch and as NumPy alone.
MEANS = {cost.PEER: {"float64": 1.42, "float32": 1.57}, cost.BARE: {"float64": 0.99, "float32": 1.02}}


# The most that ours takes of PyTorch's time, by the upper end of the interval.
CASES_BESIDE = {("softmax", n): 1.95 for n in LARGE} | {("softmax", 1024): 2.24}


CASES_BESIDE |= {("linear", 4096): 2.79, ("linear", 16384): 2.04, ("linear", 131072): 1.52}


# For each way to compute: the first and the last n, and between what the exponent of the time lies.
EXPONENTS = {
    "softmax": (2048, 16384, 1.85, 1.97),
    "linear": (4096, 131072, 0.92, 1.11),
    "token data": (4096, 131072, 1.01, 1.19),
    "closed form": (2048, 131072, -0.02, 0.06),
}


# For each attention: the first and the last n, and between what the exponent of the memory lies.
MEMORY_EXPONENTS = {"softmax": (4096, 16384, 0.89, 1.08), "linear": (16384, 131072, 1.0, 1.03)}


MEBIBYTES = 18.5


TOKEN_DATA_RATIOS = {"float64": (81, 99), "float32": (50, 66)}


def _between(name):
    """Return what a statement says of an exponent."""
    return "between ${2}$ and ${3}$".format(*EXPONENTS[name])


@cache
def stored():
    """Return the rows of the book's measurement."""
    return cost.read_result()["rows"]


def _measured(d, dtype="float64", library=cost.OURS, what="median"):
    return cost.medians(stored(), d, dtype, library, what)


class CountingMatmul:
    """An array namespace that counts the multiply-adds of its matrix products."""

    def __init__(self, xp):
        self.xp, self.multiply_adds = xp, 0

    def __getattr__(self, name):
        return getattr(self.xp, name)

    def matmul(self, x, y):
        """Return the product and count it."""
        self.multiply_adds += x.shape[0] * x.shape[1] * y.shape[1]
        return self.xp.matmul(x, y)


@claim(
    "attention-cost",
    mark="completed",
    source=SOURCE,
    level="verified",
    chapter=CHAPTER,
    statement=r"For $n$ queries, keys and values of width $d$ the matrix products of the library's plain attention "
    r"take $2n^2d$ multiply-adds for softmax, and $2nd^2 + 2nd$ for linear attention. So linear attention takes "
    r"fewer if and only if $n > d + 1$.",
    uses=["attention-streams"],
    assumes="counted inside the path for every array library; the tuned one for NumPy takes n² more for softmax's sums",
    control="the values are wider by this",
    violations=(1,),
    tests=(cost.multiply_adds,),
)
def attention_cost(xp, broken=None):
    rng = generator(5311)
    for n, d in ((1, 1), (3, 2), (5, 3), (5, 4), (5, 5), (40, 7), (7, 40), (700, 3), (900, 4)):
        q, k, v = (xp.asarray(rng.uniform(0.1, 1, (n, w))) for w in (d, d, d + int(broken or 0)))
        found = {}
        for kernel in PAIR:
            counter = CountingMatmul(xp)
            PLAIN[kernel](counter, q, k, v)
            found[kernel] = counter.multiply_adds
            yield Case(-float(abs(found[kernel] - cost.multiply_adds(n, d, kernel))), reached={"n": n, "d": d})
        same = (found["linear"] < found["softmax"]) == (n > d + 1)
        yield Case(0.0 if same else -1.0, reached={"n": n, "d": d})


@claim(
    "cost-crossover",
    mark="extension",
    source=SOURCE,
    level="measured",
    chapter=CHAPTER,
    statement=r"In the stored measurement (float64, $d = 34, 66, 130$, medians) linear attention took less time than "
    r"softmax at every measured $n > d + 1$ up to 16384; at $d = 130$ it took more at $n = 16, 32, 64$.",
    uses=["attention-cost"],
    assumes=ONE_MACHINE,
    control="n exceeds (d + 1)/(1 + this) in the first half",
    violations=(1, 1.1),
    tests=(cost.medians,),
)
def cost_crossover(xp, broken=None):
    for d in WIDTHS:
        for n, times in _measured(d).items():
            if not {*PAIR} <= times.keys():  # too large for softmax, or not settled
                continue
            if n * (1 + (broken or 0)) > d + 1:
                yield at_most(times["linear"], times["softmax"], n=n, d=d)
            elif d == 130 and n <= 64:
                yield at_most(times["softmax"], times["linear"], n=n, d=d)


@claim(
    "cost-exponents",
    mark="extension",
    source=SOURCE,
    level="measured",
    chapter=CHAPTER,
    statement=rf"In the stored measurement the time grows like a power of $n$, with an exponent {_between('softmax')} "
    rf"for softmax ($n$ from 2048 to 16384), {_between('linear')} for linear attention and "
    rf"{_between('token data')} for softmax on the token data ($n$ from 4096 to 131072), and "
    rf"{_between('closed form')} for the closed form ($n$ from 2048 to 131072): float64, least squares over "
    r"the medians, $d = 34, 66, 130$, the ends of each interval at 95 % included.",
    uses=["attention-cost"],
    assumes=ONE_MACHINE,
    control="every time is multiplied by n to this power",
    violations=(0.0014, 0.0015),
    tests=(cost.medians, cost.exponent, cost.growth),
)
def cost_exponents(xp, broken=None):
    rows = [
        row | {"median": row["median"] * factor, "turns": [time * factor for time in row["turns"]]}
        for row in stored()
        for factor in [row["n"] ** (broken or 0)]
    ]
    for d in WIDTHS:
        for name, (first, last, low, high) in EXPONENTS.items():
            for slope in cost.growth(rows, name, d, first, last, generator(5312)):
                yield within(slope, low, high, d=d)


@claim(
    "cost-memory",
    mark="extension",
    source=SOURCE,
    level="measured",
    chapter=CHAPTER,
    statement=r"In the stored measurement the memory that a call adds at its peak, the output included, grows with an "
    rf"exponent between ${MEMORY_EXPONENTS['softmax'][2]}$ and ${MEMORY_EXPONENTS['softmax'][3]}$ for softmax "
    rf"($n$ from 4096 to 16384) and between ${MEMORY_EXPONENTS['linear'][2]:.2f}$ and "
    rf"${MEMORY_EXPONENTS['linear'][3]}$ for linear attention ($n$ from 16384 to 131072; $d = 34, 66, 130$, both "
    rf"precisions). At $n = 16384$, $d = 66$ in float64 it is {MEBIBYTES} MiB for softmax; all scores at once would be "
    r"2048 MiB.",
    assumes=ONE_MACHINE,
    control="every memory is multiplied by n to this power",
    violations=(4e-4, 5e-4),
    tests=(cost.medians, cost.exponent),
)
def cost_memory(xp, broken=None):
    yield equal(8 * 16384**2, 2048 * 2**20)
    for dtype in cost.DTYPES:
        for d in WIDTHS:
            for name, (first, last, least, most) in MEMORY_EXPONENTS.items():
                measured = _measured(d, dtype, what="memory").items()
                found = {
                    n: pair[name] * n ** (broken or 0) for n, pair in measured if first <= n <= last and name in pair
                }
                yield within(cost.exponent([*found], [*found.values()]), least, most, d=d)
                if (name, dtype, d) == ("softmax", "float64", 66):
                    yield to_digits(found[16384] / 2**20, MEBIBYTES, 3, n=16384, d=d)


@claim(
    "token-data-costs-little",
    mark="extension",
    source="none: about the token data",
    level="measured",
    chapter=CHAPTER,
    statement=r"In the stored measurement PyTorch's softmax attention on $n = 16384$ unequal rows took "
    rf"{TOKEN_DATA_RATIOS['float64'][0]} to {TOKEN_DATA_RATIOS['float64'][1]} times (float64) and "
    rf"{TOKEN_DATA_RATIOS['float32'][0]} to {TOKEN_DATA_RATIOS['float32'][1]} times (float32) as long as the library's "
    r"on token data of the same size, whose query rows are of two kinds ($d = 34, 66, 130$).",
    assumes=ONE_MACHINE,
    control="ours takes longer, by the factor 1 + this",
    violations=(0.006, 0.007),
    tests=(cost.medians,),
)
def token_data_costs_little(xp, broken=None):
    for dtype in cost.DTYPES:
        for d in WIDTHS:
            ours, peer = (_measured(d, dtype, library)[16384] for library in (cost.OURS, cost.PEER))
            ratio = peer["softmax"] / ((1 + (broken or 0)) * ours["token data"])
            yield within(ratio, *TOKEN_DATA_RATIOS[dtype], n=16384, d=d)


@claim(
    "cost-beside-pytorch",
    mark="extension",
    source=SOURCE,
    level="measured",
    chapter=CHAPTER,
    statement=r"In the stored measurement the library's softmax attention took, in the geometric mean over "
    rf"$n = 4096, 8192, 16384$ and $d = 34, 66, 130$, at most {MEANS[cost.PEER]['float64']} times (float64) and "
    rf"{MEANS[cost.PEER]['float32']} times (float32) as long as PyTorch's, and at most "
    rf"{MEANS[cost.BARE]['float64']} and {MEANS[cost.BARE]['float32']} times as long as NumPy alone for the same "
    rf"products and powers. By the upper end of its interval at 95 % it took at most {CASES_BESIDE['softmax', 4096]} "
    rf"times as long as PyTorch's in each of these cases, and at most {CASES_BESIDE['softmax', 1024]} times at "
    rf"$n = 1024$; linear attention took at most {CASES_BESIDE['linear', 4096]} times at $n = 4096$, "
    rf"{CASES_BESIDE['linear', 16384]} times at $n = 16384$ and {CASES_BESIDE['linear', 131072]} times at "
    r"$n = 131072$. PyTorch's softmax has the better of $d$ and $d$ padded to a multiple of 16.",
    assumes=ONE_MACHINE + "; scores of standard deviation 3, for linear attention positive entries",
    control="ours takes longer, by the factor 1 + this",
    violations=(6e-4, 7e-4),
    tests=(cost.medians,),
)
def cost_beside_pytorch(xp, broken=None):
    slower = 1 + (broken or 0)
    for dtype in cost.DTYPES:
        for (kernel, n), most in CASES_BESIDE.items():
            for d in WIDTHS:
                yield at_most(slower * _measured(d, dtype, what="ratio")[n][kernel][2], most, n=n, d=d)
        cells = [(n, d) for n in LARGE for d in WIDTHS]
        ours = {(n, d): slower * _measured(d, dtype)[n]["softmax"] for n, d in cells}
        to_peer = [slower * _measured(d, dtype, what="ratio")[n]["softmax"][1] for n, d in cells]
        to_bare = [ours[n, d] / _measured(d, dtype, cost.BARE)[n]["softmax"] for n, d in cells]
        for library, ratios in ((cost.PEER, to_peer), (cost.BARE, to_bare)):
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            yield at_most(mean, MEANS[library][dtype], n=16384, d=130)
