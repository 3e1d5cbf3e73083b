"""What attention costs: multiply-adds as formulas, and readings of what ``bench`` measured."""

import json
import math
import statistics
from pathlib import Path

import numpy as np

from attnsep.attention.kernels import PAIR, require_pair
from attnsep.checks import require_choice, require_generator, require_integer, require_items, require_positive, text_of
from attnsep.files import naming, read, why, write

DTYPES = ("float64", "float32")


OURS, PEER, BARE = "attnsep", "PyTorch", "NumPy"  # the last: the products and powers of both attentions alone


ATTENTIONS = (*PAIR, "token data", "closed form")


RESAMPLES, LEVEL = 2000, 0.95  # of the bootstrap


def multiply_adds(n, d, kernel):
    """Multiply-adds in the matrix products of plain attention, for n queries, keys and values of width d.

    Parameters
    ----------
    n, d : int
        Each at least 1.
    kernel : str
        softmax or linear.

    Returns
    -------
    int

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    Softmax: n²d for the scores and n²d for their sums over the values.  Linear: nd² for kᵀv, nd² for q(kᵀv), and 2nd
    for the row sums and the check that they do not cancel.  Exponentials and additions are not counted.  The tuned path
    for NumPy takes n² more for softmax: its row sums are a column of the second product.
    Extension.  Claim: attention-cost.

    Examples
    --------
    >>> multiply_adds(1024, 64, "softmax"), multiply_adds(1024, 64, "linear")
    (134217728, 8519680)
    """
    n, d = require_integer("n", n, least=1), require_integer("d", d, least=1)
    return 2 * n * n * d if require_pair(kernel) == "softmax" else 2 * n * d * (d + 1)


def least_seconds(limits, n, d):
    """Seconds that the multiply-adds and the n² powers of softmax attention alone take at the measured rates.

    Parameters
    ----------
    limits : dict
        Rates per second, ``result["limits"][dtype]`` of ``bench.bench``.
    n, d : int
        Each at least 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Examples
    --------
    >>> least_seconds({"multiply_adds": 1e9, "powers": 1e6}, 1000, 50)
    1.1
    """
    if not isinstance(limits, dict) or not {"multiply_adds", "powers"} <= limits.keys():
        raise TypeError(f"limits = {text_of(limits)}: must have multiply_adds and powers")
    rates = [require_positive(f"limits[{name!r}]", limits[name]) for name in ("multiply_adds", "powers")]
    work = multiply_adds(n, d, "softmax"), int(n) ** 2
    try:
        return work[0] / rates[0] + work[1] / rates[1]
    except OverflowError:
        raise ValueError(f"n, d = {text_of(n)}, {text_of(d)}: the seconds are more than a double holds") from None


def crossover(rows, d, dtype="float64"):
    """Smallest measured n from which on linear attention took less time, by the medians, at every measured n.

    An n at which one of them was not timed does not count.

    Parameters
    ----------
    rows : list of dict
        As from ``bench.bench``.
    d : int
        Width.
    dtype : str
        float64 or float32.

    Returns
    -------
    int or None
        None if softmax was the faster one at the largest n.

    Raises
    ------
    ValueError
        If there are no rows of this width and dtype.

    Examples
    --------
    >>> rows = [
    ...     {"mechanism": name, "library": "attnsep", "n": n, "d": 8, "dtype": "float64", "median": time}
    ...     for name, times in (("softmax", (1.0, 2.0, 9.0)), ("linear", (2.0, 1.0, 1.0)))
    ...     for n, time in zip((4, 8, 16), times)
    ... ]
    >>> crossover(rows, 8)
    8
    """
    found = {n: times for n, times in medians(rows, d, dtype).items() if set(PAIR) <= set(times)}
    if not found:
        raise ValueError("rows: no n has a row for softmax and one for linear")
    last = None
    for n in sorted(found, reverse=True):
        if found[n]["linear"] >= found[n]["softmax"]:
            break
        last = n
    return last


def medians(rows, d, dtype="float64", library=OURS, what="median"):
    """Return what was measured of a library as {n: {attention: number}}, n ascending.

    Parameters
    ----------
    rows : list of dict
        As from ``bench.bench``.
    d : int
        Width.
    dtype : str
        float64 or float32.
    library : str
        attnsep, PyTorch, or NumPy for the products and powers alone.
    what : str
        median, min, max or turns (seconds; turns are a list of medians, of which max is the largest, while min is the
        fastest call), memory (bytes), or ratio (lower end, middle and upper end of that to PyTorch's time; a row of
        another library has none); an n at which it was not measured is left out.

    Raises
    ------
    ValueError
        If there are no such rows.
    """
    d, dtype, found = require_integer("d", d, least=1), require_choice("dtype", dtype, DTYPES), {}
    library = require_choice("library", library, (OURS, PEER, BARE))
    what = require_choice("what", what, ("median", "min", "max", "turns", "memory", "ratio"))
    for row in sorted(_timed_rows(rows), key=lambda row: row["n"]):
        if (row["d"], row["dtype"], row["library"]) == (d, dtype, library) and row.get(what) is not None:
            found.setdefault(row["n"], {})[row["mechanism"]] = row[what]
    if not found:
        names = {"d": d, "dtype": dtype, "library": library, "what": what}
        wanted = ", ".join(f"{name} = {text_of(value)}" for name, value in names.items())
        raise ValueError(f"rows, {wanted}: no such rows in the result")
    return found


def exponent(sizes, numbers):
    """Slope of a straight line through the points (log n, log number): the power of n with which the numbers grow.

    Parameters
    ----------
    sizes, numbers : sequence of float
        At least two, all above 0.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If there are fewer than two different sizes, or a number is not above 0.

    Examples
    --------
    >>> round(exponent([10, 100, 1000], [3, 300, 30000]), 12)
    2.0
    """
    sizes, numbers = (
        [require_positive(name, x) for x in require_items(name, items)]
        for name, items in (("sizes", sizes), ("numbers", numbers))
    )
    if len(set(sizes)) < 2 or len(sizes) != len(numbers):
        found = f"{len(set(sizes))} different sizes, {len(numbers)} numbers"
        raise ValueError(f"sizes, numbers: {found}; must be two or more, and as many")
    return statistics.linear_regression([math.log(x) for x in sizes], [math.log(x) for x in numbers]).slope


def growth(rows, attention, d, first, last, rng, dtype="float64", library=OURS):
    """Power of n with which the measured time grows, and the ends of its interval.

    Parameters
    ----------
    rows : list of dict
        As from ``bench.bench``.
    attention : str
        softmax, linear, token data or closed form.
    d : int
        Width.
    first, last : int
        The smallest and the largest n that count, at least two measured ones.
    rng : numpy.random.Generator
        Source of the bootstrap.
    dtype : str
        float64 or float32.
    library : str
        As in `medians`.

    Returns
    -------
    tuple of three float
        Lower end, least-squares slope through the medians, upper end.

    Raises
    ------
    ValueError, TypeError
        As in `medians` and `exponent`.

    Notes
    -----
    The turns of each n are drawn again, as many as there were, 2000 times; the ends leave out 2.5 % of the slopes on
    each side.

    Examples
    --------
    >>> row = {"mechanism": "linear", "library": "attnsep", "d": 8, "dtype": "float64", "memory": None}
    >>> rows = [row | {"n": n, "median": t, "turns": [t, t, t]} for n, t in ((10, 0.5), (100, 5.0))]
    >>> [round(x, 12) for x in growth(rows, "linear", 8, 10, 100, np.random.default_rng(0))]
    [1.0, 1.0, 1.0]
    """
    first, last = require_integer("first", first, least=1), require_integer("last", last, least=1)
    attention, rng = require_choice("attention", attention, ATTENTIONS), require_generator(rng)
    turns = {
        n: found[attention] for n, found in medians(rows, d, dtype, library, "turns").items() if attention in found
    }
    turns = {
        n: [require_positive("rows: turns", x) for x in require_items("rows: turns", times)]
        for n, times in turns.items()
        if first <= n <= last
    }
    middle = exponent([*turns], [statistics.median(times) for times in turns.values()])
    drawn = np.log([np.median(rng.choice(times, (RESAMPLES, len(times))), axis=1) for times in turns.values()])
    logs = np.log([*turns])
    slopes = (logs - logs.mean()) @ drawn / np.sum((logs - logs.mean()) ** 2)
    low, high = np.quantile(slopes, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), middle, float(high)


def table(result):
    """Return the measured times as text: each attention and size, ours beside PyTorch's.

    Parameters
    ----------
    result : dict
        As from ``bench.bench``.

    Returns
    -------
    str
        Times in milliseconds: the median; their ratio is that of the medians, with the ends of its interval, and a mark
        where it is not settled.  The last times are those of the products and powers in NumPy alone.

    Examples
    --------
    >>> row = {"mechanism": "softmax", "n": 8, "d": 4, "dtype": "float64", "memory": None}
    >>> ours = row | {"library": "attnsep", "median": 0.001, "ratio": [0.4, 0.5, 0.7], "settled": False}
    >>> print(table({"rows": [ours, row | {"library": "PyTorch", "median": 0.002}]}))
    attention   dtype      d       n  attnsep / ms  PyTorch / ms                 ratio  NumPy / ms      MiB
    softmax     float64    4       8             1             2   0.50 (0.40 – 0.70)?           –    – / –
    """
    if not isinstance(result, dict) or "rows" not in result:
        raise TypeError(f"result = {text_of(result)}: must be a result of bench.bench")
    found = {}
    for row in _timed_rows(result["rows"]):
        key = tuple(row[name] for name in ("mechanism", "dtype", "d", "n"))
        found.setdefault(key, {})[row["library"]] = row
    head = f"{'attention':11} {'dtype':8} {'d':>3} {'n':>7} {OURS + ' / ms':>13} {PEER + ' / ms':>13} {'ratio':>21}"
    lines = [f"{head} {BARE + ' / ms':>11} {'MiB':>8}"]
    for (attention, dtype, d, n), cell in found.items():
        ours, peer, bare = (cell.get(library) for library in (OURS, PEER, BARE))
        sizes = f"{attention:11} {dtype:8} {d:3} {n:7} {_milliseconds(ours):>13} {_milliseconds(peer):>13}"
        memory = f"{_mebi(ours)} / {_mebi(peer)}"
        lines.append(f"{sizes} {_ratio(ours, peer):>21} {_milliseconds(bare):>11} {memory:>8}")
    return "\n".join(lines)


def _milliseconds(row):
    return "–" if row is None else f"{1e3 * row['median']:.3g}"


def _ratio(ours, peer):
    if ours is None:
        return "–"
    doubt = "" if ours.get("settled", True) else "?"
    if peer is None:
        return f"–{doubt}"
    ends = "({0:.2f} – {2:.2f})".format(*ours["ratio"]) if "ratio" in ours else ""
    return f"{ours['median'] / peer['median']:.2f} {ends}{doubt}".strip()


def _mebi(row):
    return "–" if row is None or row.get("memory") is None else f"{row['memory'] / 2**20:.0f}"


def _timed_rows(rows):
    """Return the rows of a result, or raise an error that names them."""
    rows = require_items("rows", rows)
    for row in rows:
        if not isinstance(row, dict) or not {"mechanism", "library", "n", "d", "dtype", "median"} <= row.keys():
            raise TypeError(f"rows: one is {text_of(row)}, must be a row of a result")
        require_integer("n", row["n"], least=1)
        require_positive("median", row["median"])
    return rows


def _result_path():
    """Return where the result lies that the book shows."""
    return Path(__file__).with_name("bench.json")


def read_result(path=None):
    """Return a stored result of ``bench.bench``; left out, the one that the book shows.

    Raises
    ------
    ValueError
        If there is no such file, or it holds no result.
    """
    path = _result_path() if path is None else path
    try:
        result = json.loads(read(path))
        _timed_rows(result["rows"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"path = {text_of(path)}: is no result of attnsep bench ({why(error)})") from None
    return result


def write_result(path, result):
    """Store the settled cells of a result and the list of the others, as ``files.write`` does: never half of it.

    Raises
    ------
    ValueError, TypeError
        If the result is none or the file cannot be written.
    """
    text = _result_text(_settled(result))
    with naming("path", path):
        write(path, text)


def _settled(result):
    """Return a result without the cells that are not settled, which it lists.

    Examples
    --------
    >>> row = {"mechanism": "linear", "dtype": "float64", "d": 3, "n": 4, "library": "PyTorch"}
    >>> _settled({"rows": [row, row | {"library": "attnsep", "settled": False}]})
    {'rows': [], 'unsettled': [['linear', 'float64', 3, 4]]}
    """
    if not isinstance(result, dict) or not isinstance(result.get("rows"), list):
        raise TypeError(f"result = {text_of(result)}: must be a result of bench.bench")

    def cell(row):
        return [row[name] for name in ("mechanism", "dtype", "d", "n")]

    doubtful = [cell(row) for row in result["rows"] if not row.get("settled", True)]
    if not doubtful:
        return result
    return result | {"rows": [row for row in result["rows"] if cell(row) not in doubtful], "unsettled": doubtful}


def _result_text(result):
    """Return a result as text, one row a line.

    Examples
    --------
    >>> json.loads(_result_text({"date": "2026-01-31", "rows": [{"n": 1}, {"n": 2}]}))["rows"]
    [{'n': 1}, {'n': 2}]
    """
    rows = ",\n".join(f"  {json.dumps(row)}" for row in result["rows"])
    head = json.dumps({name: value for name, value in result.items() if name != "rows"}, indent=1)
    return f'{head[:-2]},\n "rows": [\n{rows}\n ]\n}}\n'
