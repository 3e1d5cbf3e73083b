"""The tasks draw what the book says of them, and nothing that gives the answer away.

Each sentence of the chapters and docstrings about generated data is a test of many draws.  A mean of many draws may be
off by SIGMA of its standard deviations: a true law would fail one of these some hundred tests with probability 10^-8.
"""

import math
from itertools import permutations

import numpy as np
import pytest

from attnsep.learn import tasks
from attnsep.learn.tasks import task
from attnsep.paper.tokens import TokenData

SIGMA = 6.5
COUNT = 3000


def on_average(x, mean, sd, what):
    """Check means over draws, the first axis, against those of a law with this standard deviation."""
    x = np.asarray(x, float)
    off = np.abs(x.mean(axis=0) - mean) / (sd / math.sqrt(len(x)))
    assert np.all(off <= SIGMA), f"{what}: {np.max(off):.1f} standard deviations from what the book says"


def uniform(found, values, what):
    """Check that each of these values comes equally often."""
    found, p = np.asarray(found).ravel(), 1 / len(values)
    assert set(found) <= set(values), f"{what}: has other values"
    on_average(found[:, None] == np.asarray(values), p, math.sqrt(p * (1 - p)), what)


def alike(features, labels, what):
    """Check that a feature has the same mean whatever the label, a number; else the label could be read from it."""
    features = np.asarray(features, float).reshape(len(labels), -1)
    features, labels = features - features.mean(axis=0), labels - np.mean(labels)
    spread = np.sqrt(np.mean(features**2, axis=0) * np.mean(labels**2))
    off = np.abs(np.mean(features * labels[:, None], axis=0)) * math.sqrt(len(labels)) / np.where(spread, spread, 1)
    assert np.all(off <= SIGMA), f"{what}: tells the label, by {np.max(off):.1f} standard deviations"


@pytest.fixture
def rng():
    return np.random.default_rng(20231017)


def noise_of(chosen, inputs, targets):
    """Return the noise over √log n of sequences of their full length, and the places of the marks."""
    here = np.flatnonzero(inputs["keep"].all(axis=1))
    n, x = inputs["x"].shape[1], inputs["x"][here].astype(float)
    root, places = math.sqrt(math.log(n)), np.argmax(x[:, :, 0], axis=1)
    strength = np.where(targets[here], float(chosen.a), float(chosen.a0))
    clean = TokenData(n=n, d=chosen.d, a=0, c=chosen.c).matrix(np)
    x[np.arange(len(here)), places, 0] -= root * strength
    return (x - clean) / root, places


# The edge


def test_an_example_of_the_edge_is_what_its_definition_says(rng):
    """Sizes n/4, n/2 and n; each class with probability ½; the mark at a random place."""
    chosen = task("edge", {"batch": COUNT, "noise": 1e-3})
    assert chosen.settings.items() >= {"n": 32, "d": 10, "a": "0.7", "a0": "0.05", "c": "0.5", "tests": 500}.items()
    assert task("edge").noise == 0.15
    inputs, targets = chosen.draw(rng)
    uniform(inputs["keep"].sum(axis=1), (8, 16, 32), "the sizes of training")
    uniform(targets, (0, 1), "the class")
    noise, places = noise_of(chosen, inputs, targets)
    uniform(places, range(32), "the place of the mark")
    assert np.max(np.abs(noise)) < 0.01


@pytest.mark.slow
def test_noise_is_gaussian_on_every_entry():
    chosen = task("edge", {"tests": COUNT, "noise": 0.15, "a": 3, "a0": 3})  # marks that noise cannot hide
    examples, targets = chosen.held_out(np.random.default_rng(1))["n = 32"]
    noise = noise_of(chosen, examples, targets)[0] / 0.15
    on_average(noise, 0, 1, "the mean of the noise of each entry")
    on_average(noise**2, 1, math.sqrt(2), "the variance of the noise of each entry")
    on_average((noise**4).reshape(-1, 1), 3, math.sqrt(96), "the fourth moment of the noise")
    on_average(noise[:, :-1] * noise[:, 1:], 0, 1, "the noise of neighbouring tokens")
    on_average(noise[:, :, :-1] * noise[:, :, 1:], 0, 1, "the noise of neighbouring entries")


def test_the_tests_of_the_edge_have_four_sizes():
    tests = task("edge").held_out(np.random.default_rng(1))
    assert [(name, x["x"].shape, len(y)) for name, (x, y) in tests.items()] == [
        (f"n = {n}", (500, n, 10), 500) for n in (32, 64, 128, 256)
    ]


@pytest.mark.parametrize("name", ["edge", "counting"])
def test_nothing_but_the_marks_tells_the_class(rng, monkeypatch, name):
    """With equal strengths, or equal shares, both classes have one law."""
    monkeypatch.setattr(tasks, "SHARES", (tasks.SHARES[0],) * 2)
    chosen = task(name, {"batch": COUNT, "a": 1} | ({"a0": 1} if name == "edge" else {}))
    for inputs, targets in (chosen.draw(rng), chosen.held_out(rng)["n = 64"]):
        x = inputs["x"].astype(float)
        alike(x, targets, f"{name}: an entry")
        alike(x**2, targets, f"{name}: the square of an entry")
        alike(inputs["keep"], targets, f"{name}: the size")
        alike(np.argmax(x[:, :, 0], axis=1), targets, f"{name}: the place of the largest mark")
        alike(np.arange(len(targets)), targets, f"{name}: the place in the batch")


# Counting


@pytest.mark.slow
def test_a_quarter_or_three_quarters_are_marked_at_random_places(rng):
    chosen = task("counting", {"tests": COUNT, "noise": 0.01})
    assert task("counting").settings.items() >= {"a": "0.7", "c": "0.5", "noise": 0.15}.items()
    inputs, targets = chosen.held_out(rng)["n = 32"]
    marked = inputs["x"][:, :, 0] > 0.35 * math.sqrt(math.log(32))
    assert np.array_equal(marked.sum(axis=1), np.array([8, 24])[targets])
    uniform(targets, (0, 1), "the class")
    for y, share in ((0, 1 / 4), (1, 3 / 4)):
        on_average(marked[targets == y], share, math.sqrt(3 / 16), "how often each place is marked")
    pairs = marked[targets == 0]
    both = 8 / 32 * 7 / 31
    on_average(pairs[:, :-1] & pairs[:, 1:], both, math.sqrt(both), "how often two neighbours are marked")


# Recall


def test_keys_meet_values_at_random_and_so_does_the_question(rng):
    chosen = task("retrieval", {"pairs": 4})
    inputs, targets = chosen.draw(rng, count=COUNT)
    assert targets.shape == (COUNT, 1)
    orders = list(permutations(range(4)))
    uniform([orders.index(tuple(row)) for row in inputs["keys"]], range(24), "which value each key has")
    uniform(4 * inputs["asked"] + targets, range(16), "key asked for and answer")
    assert np.array_equal(np.take_along_axis(inputs["keys"], targets, axis=1), inputs["asked"])
    tests, answers = task("retrieval", {"pairs": 4, "tests": COUNT}).held_out(rng)["all"]
    uniform([orders.index(tuple(row)) for row in tests["keys"]], range(24), "which value each key has in a test")
    uniform([orders.index(tuple(row)) for row in answers], range(24), "the answers of a test")


def test_mqar_is_what_its_notes_say(rng):
    """Keys lie below half of the words, without word 0, values from there on; any value can be that of any question."""
    chosen = task("mqar", {"pairs": 2, "n": 32, "words": 34})
    inputs, targets = chosen.draw(rng, count=4 * COUNT)
    x, asked = inputs["x"], inputs["asked"]
    uniform(x[:, 0], range(1, 17), "a key")
    uniform(x[:, 1], range(17, 34), "a value")
    for j in (0, 1):  # the other one of the same sequence differs
        assert np.all(x[:, j] != x[:, 2 + j])
        uniform((x[:, 2 + j] - x[:, j]) % (16 + j), range(1, 16 + j), "what follows a word")
    assert np.array_equal(np.take_along_axis(x, asked, axis=1), x[:, :4:2])
    assert np.array_equal(targets, x[:, 1:4:2])
    other = np.ones_like(x, bool)
    other[:, :4] = False
    np.put_along_axis(other, asked, False, axis=1)
    assert other.sum() == 26 * len(x)
    for place in range(4, 32):
        uniform(x[other[:, place], place], range(34), f"the random word at place {place}")
    for place in range(4, 32, 2):
        here = asked[:, 0] == place
        uniform(targets[here, 0], range(17, 34), f"the answer at place {place}")
        alike(x[here, 0], targets[here, 0], "mqar: the key that is asked for")
    alike(np.where(other, x, 0), targets[:, 0], "mqar: a random word")
    alike(x[:, 3], targets[:, 0] % 2, "mqar: another value")


def test_the_gaps_of_mqar_are_drawn_without_replacement(rng):
    """Their code draws one gap after the other with p ∝ 0.01·g^(-0.99); a gap is two places long."""
    chosen = task("mqar", {"pairs": 2, "n": 32, "words": 34})
    asked = chosen.draw(rng, count=4 * COUNT)[0]["asked"]
    p = 0.01 * np.arange(1, 15) ** -0.99
    p /= p.sum()
    first, second = ((asked[:, j, None] == 4 + 2 * np.arange(14)) for j in (0, 1))
    assert np.all(first.sum(axis=1) + second.sum(axis=1) == 2)
    on_average(first, p, np.sqrt(p * (1 - p)), "the gap of the first question")
    behind = np.array([sum(p[i] * p[j] / (1 - p[i]) for i in range(14) if i != j) for j in range(14)])
    on_average(second, behind, np.sqrt(behind * (1 - behind)), "the gap of the second question")
    assert not np.any(first & second)


# Digits


def test_digits_are_those_of_scikit_learn_with_their_labels():
    datasets = pytest.importorskip("sklearn.datasets")
    data = datasets.load_digits()
    known = {(x / 16).astype(np.float32).tobytes(): y for x, y in zip(data.data, data.target, strict=True)}
    draw, tests = task("digits", {"batch": COUNT}).source(np.random.default_rng(3))
    inputs, targets = tests["all"]
    assert len(targets) == 500
    seen = set()
    for inputs, targets in (tests["all"], draw(np.random.default_rng(4))):
        found = [x.tobytes() for x in inputs["x"][:, :, 0]]
        assert known.keys() >= {*found}, "an input is no image of scikit-learn's over 16"
        assert [known[x] for x in found] == targets.tolist(), "a label is not that of its image"
        seen |= set(found)
    assert 1600 < len(seen) <= len(known) == 1797
    places = {image: place for place, image in enumerate(known)}
    order = [places[x.tobytes()] for x in tests["all"][0]["x"][:, :, 0]]
    on_average(np.array(order)[:, None], 898, 1797 / math.sqrt(12), "where the tests stand in scikit-learn's list")


# Short ListOps


OPERATORS = {"[MIN": min, "[MAX": max, "[MED": lambda x: int(np.median(x)), "[SM": lambda x: sum(x) % 10}


def words_of(inputs):
    """Return the words of expressions up to their ends."""
    return [
        [tasks.WORDS[k] for k in np.argmax(x, axis=1)[keep]]
        for x, keep in zip(inputs["x"], inputs["keep"], strict=True)
    ]


def lists(words):
    """Return what the words of an expression say, as nested lists."""
    open_lists = [[]]
    for word in words:
        if word == "]":
            inner = open_lists.pop()
            open_lists[-1].append(inner)
        elif word in OPERATORS:
            open_lists.append([word])
        else:
            open_lists[-1].append(int(word))
    ((found,),) = open_lists
    return found


def value_of(found):
    return OPERATORS[found[0]]([value_of(x) for x in found[1:]]) if isinstance(found, list) else found


def depth_of(found):
    return 1 + max(map(depth_of, found[1:])) if isinstance(found, list) else 1


def expression(rng, level=1):
    """Draw nested lists by the public rules: at the last of 4 levels a digit, else a list with probability ¼."""
    if level == 4 or (level > 1 and rng.random() >= 0.25):
        return int(rng.integers(10))
    return [str(rng.choice([*OPERATORS])), *(expression(rng, level + 1) for _ in range(rng.integers(2, 11)))]


def flat(found):
    return [found[0], *(word for x in found[1:] for word in flat(x)), "]"] if isinstance(found, list) else [str(found)]


def test_the_values_of_expressions_are_theirs(rng):
    draw, tests = task("listops", {"tests": 300}).source(rng)
    for inputs, targets in (tests["all"], draw(rng)):
        for words, value in zip(words_of(inputs), targets, strict=True):
            found = lists(words)
            assert flat(found) == words
            assert value_of(found) == value
            assert depth_of(found) <= 4
            assert 32 < len(words) < 128
            assert max(map(len, nested(found))) <= 1 + 10
    assert value_of(lists(["[MAX", "3", "[SM", "4", "9", "]", "1", "]"])) == 3


def nested(found):
    return [found, *(inner for x in found[1:] for inner in nested(x))] if isinstance(found, list) else []


@pytest.mark.slow
def test_expressions_have_the_law_of_the_public_rules(rng):
    """Beside a second generator of the rules, whose expressions are also kept by their length."""
    _, tests = task("listops", {"tests": COUNT}).source(rng)
    wanted = []
    while len(wanted) < COUNT:
        words = flat(expression(rng))
        wanted += [words] if 32 < len(words) < 128 else []

    def features(words):
        inner = nested(lists(words))
        values = [value_of(x) for x in inner]
        counts = [words.count(word) for word in tasks.WORDS]
        widths = [len(x) - 1 for x in inner]
        whole = lists(words)
        own = [values[0] == value for value in range(10)]  # the first of them is the whole
        return [*counts, *own, len(words), np.mean(widths), np.mean(values), len(whole), words[0] == "[MED"]

    x, y = (np.array([features(words) for words in found], float) for found in (words_of(tests["all"][0]), wanted))
    spread = np.sqrt((x.var(axis=0) + y.var(axis=0)) / COUNT)
    assert np.all(np.abs(x.mean(axis=0) - y.mean(axis=0)) <= SIGMA * spread)


def test_no_expression_of_the_test_is_trained_on():
    """Even where the training's generator begins as that of the tests did."""
    draw, tests = task("listops", {"tests": 50, "batch": 60}).source(np.random.default_rng(1))
    examined = {tuple(words) for words in words_of(tests["all"][0])}
    assert len(examined) == 50
    _, more = task("listops", {"tests": 60}).source(np.random.default_rng(1))
    same = {tuple(words) for words in words_of(more["all"][0])}
    assert examined < same
    trained = {tuple(words) for words in words_of(draw(np.random.default_rng(1))[0])}
    assert same - examined < trained
    assert not trained & examined


# The model's first parameters


def test_matrices_begin_gaussian_with_variance_one_over_their_rows(rng):
    p = task("edge", {"width": 400, "layers": 1}).initial(rng)
    for name in ("q", "k", "v", "up", "down"):
        x = p["blocks"][0][name].astype(float)
        x *= math.sqrt(x.shape[0])
        on_average(x.reshape(-1, 1), 0, 1, f"the mean of {name}")
        on_average(x.reshape(-1, 1) ** 2, 1, math.sqrt(2), f"the variance of {name}")
    assert not p["blocks"][0]["bias"].any()
    assert np.all(p["blocks"][0]["before"] == 1)


def test_a_law_that_is_not_there_is_noticed(rng):
    on_average(rng.standard_normal((COUNT, 2)), 0, 1, "noise")
    with pytest.raises(AssertionError, match="standard deviations from what the book says"):
        on_average(1.5 * rng.standard_normal(COUNT) ** 2, 1, math.sqrt(2), "noise")
    labels = rng.integers(2, size=COUNT)
    alike(rng.random(COUNT), labels, "nothing")
    with pytest.raises(AssertionError, match="a leak: tells the label"):
        alike(rng.random(COUNT) + 0.2 * labels, labels, "a leak")
    with pytest.raises(AssertionError, match="places: "):
        uniform(rng.integers(4, size=COUNT) // 2 * 2, range(4), "places")
