"""What softmax and linear attention cost: multiply-adds, and the measurement that is stored with the library."""

import math
from itertools import product

from attnsep.attention.attend import PLAIN
from attnsep.attention.kernels import PAIR
from attnsep.bench import cost
from attnsep.ledger.framework import Case, at_least, at_most, claim, equal, generator, within

CHAPTER = "cost"


SOURCE = "Design tradeoffs, Failure signatures"


ONE_MACHINE = "one machine on one day, the library's NumPy path; read from the stored file"


WIDTHS = (34, 66, 130)


LARGE = (4096, 8192, 16384)


# The most that ours may take of PyTorch's time.
CASES_BESIDE = {("softmax", n): 1.4 for n in LARGE} | {("softmax", 1024): 1.7, ("linear", 131072): 1.2}


CASES_BESIDE |= {("linear", n): 1.8 for n in (8192, 16384)}


MEAN_BESIDE = {"float64": 1.10, "float32": 1.20}


# For each way to compute: the first and the last n, and between what the exponent of the time lies.
EXPONENTS = {
    "softmax": (4096, 16384, 1.9, 2),
    "linear": (4096, 131072, 0.8, 1),
    "token data": (4096, 131072, 0.95, 1.1),
    "closed form": (2048, 131072, -0.03, 0.03),
}


# For each attention: the first and the last n, and the most that the exponent of the memory is.
MEMORY_EXPONENTS, MEBIBYTES = {"softmax": (4096, 16384, 0.7), "linear": (16384, 131072, 1.02)}, 22


TOKEN_DATA_RATIOS = {"float64": 125, "float32": 65}


def _between(name):
    """Return what a statement says of an exponent."""
    return "between ${2}$ and ${3}$".format(*EXPONENTS[name])


def _measured(d, dtype="float64", library=cost.OURS, what="median"):
    return cost.medians(cost.read_result()["rows"], d, dtype, library, what)


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
            if "softmax" not in times:
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
    rf"for softmax ($n$ from 4096 to 16384), {_between('linear')} for linear attention and "
    rf"{_between('token data')} for softmax on the token data ($n$ from 4096 to 131072), and "
    rf"{_between('closed form')} for the closed form ($n$ from 2048 to 131072): float64, least squares over "
    r"the medians, $d = 34, 66, 130$.",
    uses=["attention-cost"],
    assumes=ONE_MACHINE,
    control="every time is multiplied by n to this power",
    violations=(0.0078, 0.0083),
    tests=(cost.medians, cost.exponent),
)
def cost_exponents(xp, broken=None):
    for d in WIDTHS:
        for name, (first, last, low, high) in EXPONENTS.items():
            found = {n: times[name] for n, times in _measured(d).items() if first <= n <= last and name in times}
            slope = cost.exponent([*found], [time * n ** (broken or 0) for n, time in found.items()])
            yield within(slope, low, high, d=d)


@claim(
    "cost-memory",
    mark="extension",
    source=SOURCE,
    level="measured",
    chapter=CHAPTER,
    statement=r"In the stored measurement the memory that a call adds at its peak, the output included, grows with an "
    rf"exponent of at most {MEMORY_EXPONENTS['softmax'][2]} for softmax ($n$ from 4096 to 16384) and of at most "
    rf"{MEMORY_EXPONENTS['linear'][2]} for linear attention ($n$ from 16384 to 131072). At $n = 16384$, $d = 66$ in "
    rf"float64 it is at most {MEBIBYTES} MiB for softmax; all scores at once would be 2048 MiB.",
    assumes=ONE_MACHINE,
    control="every memory is multiplied by n to this power",
    violations=(4.8e-4, 5.3e-4),
    tests=(cost.medians, cost.exponent),
)
def cost_memory(xp, broken=None):
    yield equal(8 * 16384**2, 2048 * 2**20)
    for dtype in cost.DTYPES:
        for d in WIDTHS:
            for name, (first, last, most) in MEMORY_EXPONENTS.items():
                measured = _measured(d, dtype, what="memory").items()
                found = {
                    n: pair[name] * n ** (broken or 0) for n, pair in measured if first <= n <= last and name in pair
                }
                yield at_most(cost.exponent([*found], [*found.values()]), most, d=d)
                if (name, dtype, d) == ("softmax", "float64", 66):
                    yield at_most(found[16384], MEBIBYTES * 2**20, n=16384, d=d)


@claim(
    "token-data-costs-little",
    mark="extension",
    source="none: about the token data",
    level="measured",
    chapter=CHAPTER,
    statement=r"In the stored measurement PyTorch's softmax attention on $n = 16384$ unequal rows took at least "
    rf"{TOKEN_DATA_RATIOS['float32']} times as long as the library's on token data of the same size, whose query rows "
    rf"are of two kinds; in float64 at least {TOKEN_DATA_RATIOS['float64']} times.",
    assumes=ONE_MACHINE,
    control="ours takes longer, by the factor this",
    violations=(1.01, 1.1),
    tests=(cost.medians,),
)
def token_data_costs_little(xp, broken=None):
    for dtype in cost.DTYPES:
        for d in WIDTHS:
            ours, peer = (_measured(d, dtype, library)[16384] for library in (cost.OURS, cost.PEER))
            ratio = peer["softmax"] / ((broken or 1) * ours["token data"])
            yield at_least(ratio, TOKEN_DATA_RATIOS[dtype], n=16384, d=d)


@claim(
    "cost-beside-pytorch",
    mark="extension",
    source=SOURCE,
    level="measured",
    chapter=CHAPTER,
    statement=r"In the stored measurement the library's softmax attention took at most "
    rf"{MEAN_BESIDE['float64']:.2f} times (float64) and {MEAN_BESIDE['float32']:.2f} times (float32) as long as "
    r"PyTorch's in the geometric mean over $n = 4096, 8192, 16384$ and $d = 34, 66, 130$, and at most "
    rf"{CASES_BESIDE['softmax', 4096]:.2f} times in each case; at $n = 1024$ at most "
    rf"{CASES_BESIDE['softmax', 1024]:.2f} times. Linear attention took at most {CASES_BESIDE['linear', 8192]:.2f} "
    rf"times as long as PyTorch's at $n = 8192, 16384$ and {CASES_BESIDE['linear', 131072]:.2f} times at $n = 131072$. "
    r"Medians, PyTorch's softmax with the better of $d$ and $d$ padded to a multiple of 16.",
    assumes=ONE_MACHINE + "; scores of standard deviation 3, for linear attention positive entries",
    control="ours takes longer, by the factor this",
    violations=(1.02, 1.05),
    tests=(cost.medians,),
)
def cost_beside_pytorch(xp, broken=None):
    for dtype, most in MEAN_BESIDE.items():
        ratios = {
            (kernel, n, d): _measured(d, dtype)[n][kernel] / _measured(d, dtype, cost.PEER)[n][kernel]
            for (kernel, n), d in product(CASES_BESIDE, WIDTHS)
        }
        for (kernel, n, d), ratio in ratios.items():
            yield at_most(ratio * (broken or 1), CASES_BESIDE[kernel, n], n=n, d=d)
        large = [ratio for (kernel, n, _), ratio in ratios.items() if kernel == "softmax" and n in LARGE]
        mean = math.exp(sum(map(math.log, large)) / len(large))
        yield at_most(mean * (broken or 1), most, n=16384, d=130)
