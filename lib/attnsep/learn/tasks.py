"""Tasks for trained models: settings that turn a generator into data, and the model and loss that belong to them."""

import math
import statistics
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from itertools import chain, islice, repeat
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from attnsep.checks import (
    require_choice,
    require_decimal,
    require_generator,
    require_integer,
    require_positive,
    require_real,
    text_of,
)
from attnsep.extensions.where_linear_wins import SHARES
from attnsep.learn.model import BLOCKS, block, gaussian, initial_block, weights
from attnsep.paper.tokens import TokenData

MOST = {"steps": 10**6, "batch": 4096, "every": 10**5, "layers": 8, "d": 1024, "width": 1024, "n": 4096, "pairs": 1024}
MOST |= {"tests": 10**5, "asked": 1024, "words": 2**16, "depth": 10, "args": 10}
MISSING = 'comes with the extra learn: pip install ".[learn]" in the folder of the book'
LEAST = {"steps": 0, "d": 3, "n": 32, "args": 2}
STARTS = ("uniform", "xavier")


@dataclass(frozen=True, kw_only=True)
class Task:
    """What all tasks share: the budget, which is the same for every kernel, and the tests.

    Parameters
    ----------
    steps : int
        Steps of Adam, a multiple of `every`.
    batch : int
        Examples in a step.
    rate : float
        Adam's learning rate.
    every : int
        Steps between two evaluations.
    clip : float
        Gradients are shortened to this length; 0 leaves them alone.

    Raises
    ------
    ValueError, TypeError
        If a setting breaks one of its rules.
    """

    steps: int = 1000
    batch: int = 32
    rate: float = 0.001
    every: int = 100
    clip: float = 1.0

    name: ClassVar[str] = ""
    stops: ClassVar[bool] = False

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int:
                value = require_integer(field.name, value, LEAST.get(field.name, 1), MOST[field.name])
            elif field.type is float:
                value = require_real(field.name, value)
                if value < 0:
                    raise ValueError(f"{field.name} = {value!r}: must be at least 0")
            object.__setattr__(self, field.name, value)
        require_positive("rate", self.rate)
        if self.steps % self.every:
            raise ValueError(f"steps = {self.steps}: must be a multiple of every = {self.every}")

    @property
    def settings(self):
        """All settings, as one dictionary."""
        return asdict(self)

    def source(self, rng):
        """Return where the data come from.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the tests, and of the split where there is one.

        Returns
        -------
        draw : callable
            Takes a generator and returns inputs and targets of one batch.
        tests : dict
            Name of the test: (inputs, targets).
        """
        return self.draw, self.held_out(rng)


def task(name, settings=None):
    """Return a task by its name.

    Parameters
    ----------
    name : str
        One of ``TASKS``.
    settings : dict, optional
        Settings that are not the default; numbers may be texts.

    Returns
    -------
    Task

    Raises
    ------
    ValueError, TypeError
        If there is no such task or setting, or a value breaks its rule.

    Examples
    --------
    >>> task("retrieval", {"pairs": "40"}).pairs
    40
    >>> task("retrieval", {"n": 3})
    Traceback (most recent call last):
    ...
    ValueError: settings: retrieval has no 'n', only steps, batch, rate, every, clip, pairs, width, start, tests, asked
    """
    kind = TASKS[require_choice("name", name, TASKS)]
    settings = {} if settings is None else settings
    if not isinstance(settings, dict):
        raise TypeError(f"settings = {text_of(settings)}: must be a dictionary")
    types = {field.name: field.type for field in fields(kind)}
    for key in settings:
        if key not in types:
            raise ValueError(f"settings: {name} has no {text_of(key)}, only {', '.join(types)}")
    return kind(**{key: _read(key, value, types[key]) for key, value in settings.items()})


def _read(name, value, kind):
    """Return what a text stands for where a number is wanted, everything else as it is."""
    if kind is str or not isinstance(value, str):
        return value
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{name} = {text_of(value)}: must be {'an integer' if kind is int else 'a number'}") from None


# Classification of whole sequences


@dataclass(frozen=True, kw_only=True)
class Sequences(Task):
    """Tasks that put a whole sequence into a class: blocks, the mean over the rows, one linear map."""

    layers: int = 1
    width: int = 16
    block: str = "full"

    channels: ClassVar[int] = 1
    classes: ClassVar[int] = 2
    positions: ClassVar[int] = 0

    def __post_init__(self):
        super().__post_init__()
        require_choice("block", self.block, BLOCKS)

    def initial(self, rng):
        """Draw the model's parameters.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the draws.

        Returns
        -------
        dict
            Arrays of float32, blocks as a list.
        """
        require_generator(rng)
        sizes = {"d": self.width, "width": self.width, "hidden": 4 * self.width, "kind": self.block}
        p = {"embed": gaussian(rng, self.channels, self.width)}
        if self.positions:
            p["position"] = gaussian(rng, self.positions, self.width) * math.sqrt(self.positions)
        p["blocks"] = [initial_block(rng, **sizes) for _ in range(self.layers)]
        return p | {"head": gaussian(rng, self.width, self.classes), "bias": np.zeros(self.classes, np.float32)}

    def predict(self, p, inputs, kernel):
        """Return the scores of the classes.

        Parameters
        ----------
        p : dict
            As from `initial`.
        inputs : dict of array
            ``x`` (batch, n, channels) and ``keep`` (batch, n), False where a sequence has ended.
        kernel : str
            One of ``model.KERNELS``.

        Returns
        -------
        array, shape (batch, classes)
        """
        x, keep = inputs["x"], inputs["keep"]
        xp = array_namespace(x)
        x = xp.matmul(x, p["embed"])
        x = x + p["position"] if "position" in p else x
        for part in p["blocks"]:
            x = block(part, x, kernel, keep[:, None, :])
        kept = xp.where(keep[:, :, None], x, xp.zeros_like(x))
        mean = xp.sum(kept, axis=1) / xp.sum(xp.astype(keep, x.dtype), axis=1, keepdims=True)
        return xp.matmul(mean, p["head"]) + p["bias"]

    def loss(self, outputs, targets):
        """Return the mean cross-entropy, in nats."""
        return cross_entropy(outputs, targets)

    def score(self, outputs, targets):
        """Return for each example whether the largest score is the right one; never where one is not finite."""
        xp = array_namespace(outputs)
        return (xp.argmax(outputs, axis=-1) == targets) & xp.all(xp.isfinite(outputs), axis=-1)


def cross_entropy(outputs, targets):
    """Mean of −log softmax(outputs)[target], over the examples whose target is not negative.

    Parameters
    ----------
    outputs : array, shape (..., classes)
        Scores.
    targets : array of int, shape (...)
        The right class, or -1 where nothing is asked.

    Returns
    -------
    array, shape ()

    Examples
    --------
    >>> float(cross_entropy(np.zeros((2, 4)), np.array([1, -1])).round(4))  # log 4
    1.3863
    """
    xp = array_namespace(outputs, targets)
    shifted = outputs - xp.max(outputs, axis=-1, keepdims=True)
    chosen = targets[..., None] == xp.arange(outputs.shape[-1], dtype=targets.dtype)
    right = xp.sum(xp.where(chosen, shifted, xp.zeros_like(shifted)), axis=-1)
    loss = xp.log(xp.sum(xp.exp(shifted), axis=-1)) - right
    asked = targets >= 0
    return xp.sum(xp.where(asked, loss, xp.zeros_like(loss))) / xp.sum(xp.astype(asked, outputs.dtype))


@dataclass(frozen=True, kw_only=True)
class Tokens(Sequences):
    """Noisy token data of the book: n is the largest size in training; tests go up to 8n."""

    n: int = 32
    d: int = 10
    a: str = "0.7"
    c: str = "0.5"
    noise: float = 0.15
    tests: int = 500
    batch: int = 64
    steps: int = 1000
    rate: float = 0.003

    def __post_init__(self):
        super().__post_init__()
        if self.n % (4 * (self.d - 2)):
            rule = f"n must be a multiple of 4(d - 2) = {4 * (self.d - 2)}, since training takes n/4, n/2 and n tokens"
            raise ValueError(f"n = {text_of(self.n)}, d = {text_of(self.d)}: {rule}")
        TokenData(n=self.n, d=self.d, a=self.a, c=self.c)
        self._as_texts("a", "c")

    def _as_texts(self, *names):
        """Keep decimals as texts, one for each number, so that 0.7, "0.7" and "0.70" are one run."""
        for name in names:
            exact = require_decimal(name, getattr(self, name))
            short = f"{float(exact):.15g}"
            object.__setattr__(self, name, short if Fraction(short) == exact else str(exact))

    @property
    def channels(self):
        """Width of a token."""
        return self.d

    @property
    def sizes(self):
        """Sizes in training, which are n/4, n/2 and n."""
        return self.n // 4, self.n // 2, self.n

    def draw(self, rng):
        """Draw one batch of examples whose sizes are mixed.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the draws.

        Returns
        -------
        inputs : dict of numpy.ndarray
            ``x`` (batch, n, d), behind a sequence's end its tokens again, and ``keep`` (batch, n), False there.
        targets : numpy.ndarray of int, shape (batch,)

        Notes
        -----
        Zeros behind the end would give linear attention rows whose sum is 0, and with them NaN in the gradient.
        """
        require_generator(rng)
        size = np.asarray(self.sizes)[rng.integers(3, size=self.batch)]
        x = np.empty((self.batch, self.n, self.d), np.float32)
        targets = np.zeros(self.batch, np.int32)
        for n in self.sizes:
            here = np.flatnonzero(size == n)
            tokens, targets[here] = self._examples(rng, n, len(here))
            x[here] = np.tile(tokens, (1, self.n // n, 1))
        return {"x": x, "keep": np.arange(self.n) < size[:, None]}, targets

    def held_out(self, rng):
        """Draw the tests: sequences of the sizes n, 2n, 4n and 8n, the last three never seen in training.

        Returns
        -------
        dict
            Name of the test: (inputs, targets), as from `draw`.
        """
        require_generator(rng)
        found = {}
        for n in (self.n, 2 * self.n, 4 * self.n, 8 * self.n):
            x, targets = self._examples(rng, n, self.tests)
            found[f"n = {n}"] = {"x": x, "keep": np.ones((self.tests, n), bool)}, targets
        return found

    def _examples(self, rng, n, count):
        """Return tokens and classes: the matrix without a mark, marks in the first column, noise in every entry."""
        root = math.sqrt(math.log(n))
        x = np.tile(TokenData(n=n, d=self.d, a=0, c=self.c).matrix(np).astype(np.float32), (count, 1, 1))
        targets = rng.integers(2, size=count).astype(np.int32)
        x[:, :, 0] = root * self._marks(rng, n, targets)
        return x + np.float32(self.noise * root) * rng.standard_normal(x.shape, np.float32), targets


@dataclass(frozen=True, kw_only=True)
class Edge(Tokens):
    """D_0 against D_1 with noise: one marked token at a random place, its strength `a0` or `a`.

    Notes
    -----
    Entries of A are multiples of √log n; the noise is Gaussian with standard deviation ``noise``·√log n.
    """

    a0: str = "0.05"

    name: ClassVar[str] = "edge"

    def __post_init__(self):
        super().__post_init__()
        self._as_texts("a0")

    def _marks(self, rng, n, targets):
        marks = np.zeros((len(targets), n), np.float32)
        strength = np.array([float(require_decimal("a", a)) for a in (self.a0, self.a)], np.float32)
        marks[np.arange(len(targets)), rng.integers(n, size=len(targets))] = strength[targets]
        return marks


@dataclass(frozen=True, kw_only=True)
class Counting(Tokens):
    """A quarter or three quarters of the tokens are marked, at random places, with noise: which is it?"""

    name: ClassVar[str] = "counting"

    def _marks(self, rng, n, targets):
        marked = np.array([int(share * n) for share in SHARES])[targets]
        order = rng.permuted(np.tile(np.arange(n), (len(targets), 1)), axis=1)
        return np.float32(float(require_decimal("a", self.a))) * (order < marked[:, None])


@dataclass(frozen=True, kw_only=True)
class Digits(Sequences):
    """scikit-learn's 1797 handwritten digits as sequences of 64 pixels; ``tests`` of them are held out."""

    tests: int = 500
    layers: int = 2
    width: int = 32
    batch: int = 32
    steps: int = 600
    rate: float = 0.003

    name: ClassVar[str] = "digits"
    classes: ClassVar[int] = 10
    positions: ClassVar[int] = 64

    def __post_init__(self):
        super().__post_init__()
        require_integer("tests", self.tests, least=1, most=1500)

    def source(self, rng):
        """Split all images at random; see `Task.source`."""
        require_generator(rng)
        try:
            from sklearn.datasets import load_digits
        except ImportError:
            raise ImportError(f"scikit-learn is missing, and it {MISSING}") from None
        data = load_digits()
        x, y = (data.data[:, :, None] / 16).astype(np.float32), data.target.astype(np.int32)
        order = rng.permutation(len(x))

        def examples(chosen):
            return {"x": x[chosen], "keep": np.ones((len(chosen), self.positions), bool)}, y[chosen]

        def draw(rng):
            return examples(rng.choice(order[self.tests :], self.batch))

        return draw, {"all": examples(order[: self.tests])}


WORDS = (*map(str, range(10)), "[MIN", "[MAX", "[MED", "[SM", "]")
VALUES = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(statistics.median(values)),
    "[SM": lambda values: sum(values) % 10,
}


@dataclass(frozen=True, kw_only=True)
class ListOps(Sequences):
    """Short ListOps: nested lists of digits, such as [MAX 3 [SM 4 9 ] 1 ], whose value, a digit, is the class.

    Parameters
    ----------
    n : int
        Length: an expression has fewer than n tokens and more than n/4.
    depth : int
        Levels: the list is the first, and the last has only digits.
    args : int
        Most arguments of an operator, at least 2.
    tests : int
        Expressions in the test, all different; no expression of the test is trained on.
    layers, width, block
        As in `Sequences`; a place has a learnt embedding.
    steps, batch, rate, every, clip
        As in `Task`.

    Notes
    -----
    Rules of Nangia and Bowman (2018), as in the public code https://github.com/google-research/long-range-arena: 2 to
    ``args`` arguments, each of which is a list with probability ¼ unless it is on the last level, all else equally
    likely; MIN, MAX, MED (the median, rounded down) and SM (the sum modulo 10).  There an expression has 500 to 2000
    tokens, up to ten levels and up to ten arguments: this task is a short one, and none of that benchmark.
    """

    n: int = 128
    depth: int = 4
    args: int = 10
    tests: int = 500
    layers: int = 2
    width: int = 32
    batch: int = 32
    steps: int = 1000
    rate: float = 0.003

    name: ClassVar[str] = "listops"
    channels: ClassVar[int] = len(WORDS)
    classes: ClassVar[int] = 10

    def __post_init__(self):
        super().__post_init__()
        require_integer("tests", self.tests, least=1, most=10**4)
        if self.args ** (self.depth - 1) < self.n:
            why = f"args to the power depth - 1 must be at least n = {self.n}, or too few expressions are long enough"
            raise ValueError(f"args = {self.args}, depth = {self.depth}: {why}")

    @property
    def positions(self):
        """Number of places, n."""
        return self.n

    def source(self, rng):
        """Draw the tests, and train on other expressions; see `Task.source`."""
        require_generator(rng)
        tests = {}
        draws = self._expressions(rng)
        while len(tests) < self.tests:
            words, value = next(draws)
            tests[tuple(words)] = value

        def draw(rng):
            new = (found for found in self._expressions(require_generator(rng)) if tuple(found[0]) not in tests)
            return self._examples(list(islice(new, self.batch)))

        return draw, {"all": self._examples(list(tests.items()))}

    def _expressions(self, rng):
        """Yield the words of expressions of the right length, as numbers, with their values."""
        numbers = chain.from_iterable(rng.random(1024).tolist() for _ in repeat(None))

        def tree(level):
            if level == self.depth or (level > 1 and next(numbers) > 0.25):
                digit = int(10 * next(numbers))
                return [digit], digit
            operator = 10 + int(len(VALUES) * next(numbers))
            parts = [tree(level + 1) for _ in range(2 + int((self.args - 1) * next(numbers)))]
            value = VALUES[WORDS[operator]]([value for _, value in parts])
            return [operator, *chain.from_iterable(words for words, _ in parts), len(WORDS) - 1], value

        while True:
            words, value = tree(1)
            if self.n / 4 < len(words) < self.n:
                yield words, value

    def _examples(self, found):
        """Return expressions as inputs, filled up with the closing bracket, and their values."""
        length = np.array([len(words) for words, _ in found])
        words = np.full((len(found), self.n), len(WORDS) - 1)
        for row, (some, _) in zip(words, found, strict=True):
            row[: len(some)] = some
        inputs = {"x": np.eye(len(WORDS), dtype=np.float32)[words], "keep": np.arange(self.n) < length[:, None]}
        return inputs, np.array([value for _, value in found], np.int32)


# Recall


@dataclass(frozen=True, kw_only=True)
class Retrieval(Task):
    """Associative retrieval with unique keys: which value came with this key?

    Parameters
    ----------
    pairs : int
        N: a sequence pairs each of N keys with one of N values, at random.
    width : int
        Width of queries and keys: the number of features of elu+1.
    start : str
        Law of the first maps to queries and keys: ``uniform`` on ±1/√width, which the public code has for linear
        attention, or ``xavier``, uniform on ±√(6/(rows + columns)), which it has for softmax.
    tests : int
        Sequences in an evaluation.
    asked : int
        Keys that an evaluation asks for about each sequence: the first so many of the N, or all N if they are fewer.
    steps, batch, rate, every, clip
        As in `Task`; training stops before `steps` when the evaluation loss is at most 0.001, or at the 11th evaluation
        in a row without a new best one.

    Notes
    -----
    Values are unit vectors, y = e_v.  Keys are embedded and learnt; W_k sees the key and the value, W_q the key.
    Loss ½‖y − ŷ‖².  Each evaluation draws new sequences.  Reported setting: Schlag, Irie and Schmidhuber (2021),
    section 6.1, and their public code https://github.com/ischlag/fast-weight-transformers, whose laws and sizes these
    are.  Two things differ: the random numbers, and that their linear attention adds 10⁻⁶ to each sum of weights.
    """

    pairs: int = 20
    width: int = 64
    start: str = "uniform"
    tests: int = 20
    asked: int = 200
    steps: int = 100_000
    clip: float = 0.0

    name: ClassVar[str] = "retrieval"
    stops: ClassVar[bool] = True

    def __post_init__(self):
        super().__post_init__()
        require_choice("start", self.start, STARTS)

    def initial(self, rng):
        """Draw the model's parameters: embeddings of the keys, and the maps to keys and queries."""
        require_generator(rng)
        N, e = self.pairs, int(2.2 * self.pairs)

        def uniform(bound, *shape):
            return rng.uniform(-bound, bound, shape).astype(np.float32)

        def matrix(rows):
            square = 1 / self.width if self.start == "uniform" else 6 / (rows + self.width)
            return uniform(math.sqrt(square), rows, self.width)

        return {
            "embed": rng.standard_normal((N, e)).astype(np.float32),
            "k": matrix(N + e),
            "k_bias": uniform(1 / math.sqrt(N + e), self.width),
            "q": matrix(e),
            "q_bias": uniform(1 / math.sqrt(e), self.width),
        }

    def draw(self, rng, count=None):
        """Draw sequences with one question each.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the draws.
        count : int, optional
            How many sequences; left out, ``batch``.

        Returns
        -------
        inputs : dict of numpy.ndarray
            ``keys`` (count, N), at place v the key that comes with value v: attention does not see the order of its
            tokens, so they stand in that of their values; ``asked`` (count, 1), the key that is asked for.
        targets : numpy.ndarray of int, shape (count, 1)
            Its value.
        """
        require_generator(rng)
        keys = self._keys(rng, self.batch if count is None else require_integer("count", count, least=1, most=10**5))
        targets = rng.integers(self.pairs, size=(len(keys), 1), dtype=np.int32)
        return {"keys": keys, "asked": np.take_along_axis(keys, targets, axis=1)}, targets

    def held_out(self, rng):
        """Draw the sequences of an evaluation, with the keys that it asks for in their own order; see `draw`."""
        require_generator(rng)
        keys = self._keys(rng, self.tests)
        asked = np.tile(np.arange(min(self.pairs, self.asked), dtype=np.int32), (self.tests, 1))
        targets = np.argsort(keys, axis=1)[:, : asked.shape[1]].astype(np.int32)
        return {"all": ({"keys": keys, "asked": asked}, targets)}

    def _keys(self, rng, count):
        return rng.permuted(np.tile(np.arange(self.pairs, dtype=np.int32), (count, 1)), axis=1)

    def predict(self, p, inputs, kernel):
        """Return ŷ, shape (count, queries, N): for each question the weight of every value."""
        xp = array_namespace(inputs["keys"])
        N = self.pairs
        k = _rows(xp, xp.matmul(p["embed"], p["k"][N:, :]) + p["k_bias"], inputs["keys"]) + p["k"][:N, :]
        q = _rows(xp, xp.matmul(p["embed"], p["q"]) + p["q_bias"], inputs["asked"])
        return weights(q, k, kernel)

    def loss(self, outputs, targets):
        """Return the mean of ½‖y − ŷ‖² over all questions."""
        values = self.score(outputs, targets)
        return array_namespace(values).mean(values)

    def score(self, outputs, targets):
        """Return ½‖y − ŷ‖² for each question."""
        xp = array_namespace(outputs)
        units = targets[..., None] == xp.arange(outputs.shape[-1], dtype=targets.dtype)
        return xp.sum((xp.astype(units, outputs.dtype) - outputs) ** 2, axis=-1) / 2

    def judged(self, scores):
        """Return the number by which an evaluation is judged, and which is reported.

        Parameters
        ----------
        scores : numpy.ndarray, shape (sequences, questions)
            As from `score`.

        Returns
        -------
        float

        Notes
        -----
        The public code takes the questions in groups of ``batch`` and then the mean of the groups' means, so that the
        questions of a last group that is smaller weigh more.

        Examples
        --------
        >>> Retrieval(pairs=5, batch=4).judged(np.array([[0, 0, 0, 0, 1.0]]))
        0.5
        """
        groups = [scores[:, start : start + self.batch] for start in range(0, scores.shape[1], self.batch)]
        return float(np.mean([np.mean(group, dtype=np.float64) for group in groups]))


def _rows(xp, table, index):
    """Return table[index] for an array of any shape."""
    flat = xp.take(table, xp.reshape(index, (-1,)), axis=0)
    return xp.reshape(flat, (*index.shape, table.shape[1]))


@dataclass(frozen=True, kw_only=True)
class Recall(Task):
    """Multi-query associative recall (MQAR): K pairs, then each key once more; name its value there.

    Parameters
    ----------
    pairs : int
        K.
    n : int
        Length of a sequence, even and at least 4K: k_1 v_1 … k_K v_K, then n − 2K places for the questions.
    words : int
        Size of the vocabulary, even and above n: keys are words 1, …, words/2 − 1, values those from words/2 on.
    d : int
        Width of the tokens.
    width : int
        m, the width of queries and keys: the number of features of elu+1.
    tests : int
        Sequences in the test.
    steps, batch, rate, every, clip
        As in `Task`.

    Notes
    -----
    The keys of a sequence differ, and so do its values.  A question, which is a key, stands at place 2K + 2(g − 1)
    (the first place is 0), with gaps g = 1, …, (n − 2K)/2 drawn without replacement with p ∝ 0.01·g^{−0.99}.  All other
    places behind the pairs have random words of the whole vocabulary.  Only the questions count.  The data are those of
    Arora et al. (2023) and their public code https://github.com/HazyResearch/zoology, but for the vocabulary, which has
    8192 words there.  The model is another one.  Theirs has two layers without a ReLU layer, learnt positions, and at
    least 64 entries in queries, keys and tokens alike.  Ours is one `model.block`, where each token also sees the
    embedding of the token before it: that is what a first layer would have to learn.
    """

    pairs: int = 4
    n: int = 64
    words: int = 512
    d: int = 64
    width: int = 8
    tests: int = 500
    batch: int = 32
    steps: int = 1000
    rate: float = 0.003

    name: ClassVar[str] = "mqar"

    def __post_init__(self):
        super().__post_init__()
        for name, least in (("n", 4 * self.pairs), ("words", self.n + 2)):
            if (value := getattr(self, name)) % 2 or value < least:
                why = "a question for each of its pairs" if name == "n" else f"words for n = {self.n} places"
                raise ValueError(f"{name} = {value}: must be even and at least {least}, so that there are {why}")

    def initial(self, rng):
        """Draw the model's parameters: two embeddings, one full block, one linear map."""
        require_generator(rng)
        p = {name: rng.standard_normal((self.words, self.d)).astype(np.float32) for name in ("embed", "previous")}
        p["blocks"] = [initial_block(rng, d=self.d, width=self.width, hidden=4 * self.d)]
        return p | {"head": gaussian(rng, self.d, self.words), "bias": np.zeros(self.words, np.float32)}

    def draw(self, rng, count=None):
        """Draw sequences.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the draws.
        count : int, optional
            How many; left out, ``batch``.

        Returns
        -------
        inputs : dict of numpy.ndarray
            ``x`` (count, n), words, and ``asked`` (count, K), the place where each key is asked for.
        targets : numpy.ndarray of int, shape (count, K)
            The value of each key.
        """
        require_generator(rng)
        count = self.batch if count is None else require_integer("count", count, least=1, most=10**5)
        K, half, gaps = self.pairs, self.words // 2, self.n // 2 - self.pairs
        x = rng.integers(self.words, size=(count, self.n), dtype=np.int32)
        keys = 1 + _some(rng, count, half - 1, K)
        values = half + _some(rng, count, half, K)
        x[:, 0 : 2 * K : 2], x[:, 1 : 2 * K : 2] = keys, values
        # Gumbel noise: the K largest of log p + noise are draws without replacement.
        noise = -0.99 * np.log(np.arange(1, gaps + 1)) + rng.gumbel(size=(count, gaps))
        asked = 2 * K + 2 * np.argsort(-noise, axis=1)[:, :K].astype(np.int32)
        np.put_along_axis(x, asked, keys, axis=1)
        return {"x": x, "asked": asked}, values

    def held_out(self, rng):
        """Draw the tests: ``tests`` new sequences."""
        return {"all": self.draw(rng, self.tests)}

    def predict(self, p, inputs, kernel):
        """Return the scores of all words at each question, shape (count, K, words); a place sees those up to itself."""
        words, asked = inputs["x"], inputs["asked"]
        xp = array_namespace(words)
        before = _rows(xp, p["previous"], words)
        before = xp.concat([xp.zeros_like(before[:, :1, :]), before[:, :-1, :]], axis=1)
        x = _rows(xp, p["embed"], words) + before
        (part,) = p["blocks"]
        seen = asked[:, :, None] >= xp.arange(words.shape[1], dtype=asked.dtype)
        return xp.matmul(block(part, x, kernel, seen, asked), p["head"]) + p["bias"]

    def loss(self, outputs, targets):
        """Return the mean cross-entropy over the questions, in nats."""
        return cross_entropy(outputs, targets)

    def score(self, outputs, targets):
        """Return for each question whether it is answered rightly; never where a score is not finite."""
        xp = array_namespace(outputs)
        return (xp.argmax(outputs, axis=-1) == targets) & xp.all(xp.isfinite(outputs), axis=-1)


def _some(rng, count, size, chosen):
    """Return for each of `count` rows some numbers of 0, …, size − 1, drawn without replacement."""
    return np.argsort(rng.random((count, size)), axis=1)[:, :chosen].astype(np.int32)


TASKS = {kind.name: kind for kind in (Edge, Counting, Retrieval, Recall, Digits, ListOps)}
