"""What attention costs: multiply-adds as formulas, and readings of what ``bench`` measured."""

import json
import math
import statistics
from pathlib import Path

from attnsep.attention.kernels import PAIR, require_pair
from attnsep.checks import require_choice, require_integer, require_items, require_positive, text_of
from attnsep.files import naming, read, why, write

DTYPES = ("float64", "float32")


OURS, PEER = "attnsep", "PyTorch"


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
        attnsep or PyTorch.
    what : str
        median, min or max (seconds), or memory (bytes); an n at which it was not measured is left out.

    Raises
    ------
    ValueError
        If there are no such rows.
    """
    d, dtype, found = require_integer("d", d, least=1), require_choice("dtype", dtype, DTYPES), {}
    library = require_choice("library", library, (OURS, PEER))
    what = require_choice("what", what, ("median", "min", "max", "memory"))
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


def table(result):
    """Return the measured times as text: each attention and size, ours beside PyTorch's.

    Parameters
    ----------
    result : dict
        As from ``bench.bench``.

    Returns
    -------
    str
        Times in milliseconds: the median, and the least and the largest one; their ratio is that of the medians.

    Examples
    --------
    >>> row = {"mechanism": "softmax", "n": 8, "d": 4, "dtype": "float64", "memory": None}
    >>> times = {"attnsep": (0.001, 0.001, 0.002), "PyTorch": (0.002, 0.002, 0.004)}
    >>> rows = [row | {"library": x} | dict(zip(("median", "min", "max"), t)) for x, t in times.items()]
    >>> print(table({"rows": rows}))
    attention   dtype      d       n           attnsep / ms           PyTorch / ms  ratio      MiB
    softmax     float64    4       8              1 (1 – 2)              2 (2 – 4)   0.50    – / –
    """
    if not isinstance(result, dict) or "rows" not in result:
        raise TypeError(f"result = {text_of(result)}: must be a result of bench.bench")
    found = {}
    for row in _timed_rows(result["rows"]):
        key = tuple(row[name] for name in ("mechanism", "dtype", "d", "n"))
        found.setdefault(key, {})[row["library"]] = row
    head = f"{'attention':11} {'dtype':8} {'d':>3} {'n':>7} {OURS + ' / ms':>22} {PEER + ' / ms':>22}"
    lines = [f"{head} {'ratio':>6} {'MiB':>8}"]
    for (attention, dtype, d, n), pair in found.items():
        ours, peer = pair.get(OURS), pair.get(PEER)
        ratio = f"{ours['median'] / peer['median']:.2f}" if ours and peer else "–"
        sizes = f"{attention:11} {dtype:8} {d:3} {n:7}"
        memory = f"{_mebi(ours)} / {_mebi(peer)}"
        lines.append(f"{sizes} {_spread(ours):>22} {_spread(peer):>22} {ratio:>6} {memory:>8}")
    return "\n".join(lines)


def _spread(row):
    if row is None:
        return "–"
    middle, low, high = (f"{1e3 * row[name]:.3g}" for name in ("median", "min", "max"))
    return f"{middle} ({low} – {high})"


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
    """Store a result, as ``files.write`` does: no one ever reads half of it.

    Raises
    ------
    ValueError, TypeError
        If the result is none or the file cannot be written.
    """
    text = _result_text(result)
    with naming("path", path):
        write(path, text)


def _result_text(result):
    """Return a result as text, one row a line.

    Examples
    --------
    >>> json.loads(_result_text({"date": "2026-01-31", "rows": [{"n": 1}, {"n": 2}]}))["rows"]
    [{'n': 1}, {'n': 2}]
    """
    if not isinstance(result, dict) or not isinstance(result.get("rows"), list):
        raise TypeError(f"result = {text_of(result)}: must be a result of bench.bench")
    rows = ",\n".join(f"  {json.dumps(row)}" for row in result["rows"])
    head = json.dumps({name: value for name, value in result.items() if name != "rows"}, indent=1)
    return f'{head[:-2]},\n "rows": [\n{rows}\n ]\n}}\n'
