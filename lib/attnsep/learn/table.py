"""The committed table of training runs, one row a line; reading it needs no extra."""

import json
import math
import shlex
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from attnsep.checks import require_choice, require_integer, require_items, require_real, text_of
from attnsep.files import from_json, locked, naming, read, why, write
from attnsep.learn.model import require_learn_kernel
from attnsep.learn.tasks import TASKS, task

RUN = ("task", "kernel", "seed", "settings")
FIELDS = {*RUN, "steps", "result", "versions", "machine", "seconds"}
MOST_VALUES, MOST_COMPARISONS = 10, 1000
VALIDATION = 100  # the seed with which rates are chosen, and from which nothing is reported


def table_path():
    """Return where the table lies that the book shows."""
    return Path(__file__).with_name("results.jsonl")


def grid_path():
    """Return where the grid lies that makes this table."""
    return Path(__file__).with_name("grid.json")


def read_rows(path=None):
    """Return the rows of a table, a file in UTF-8; left out, of the one that the book shows.

    Raises
    ------
    ValueError
        If there is no such file, or a line is no row.
    """
    path = table_path() if path is None else path
    try:
        return [_require_row(from_json(line)) for line in read(path).split("\n") if line.strip()]
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"path = {text_of(path)}: is no table of attnsep learn ({why(error)})") from None


def _require_row(row):
    """Return the row of a table, its settings complete and as its task has them, or raise an error that says why not.

    Settings of another JSON type, in another order or without a default are the same run.

    Examples
    --------
    >>> _require_row({"task": "edge"})
    Traceback (most recent call last):
    ...
    TypeError: row = {'task': 'edge'}: must be a row of attnsep learn
    """
    if not isinstance(row, dict) or not row.keys() >= FIELDS or not isinstance(row["result"], dict):
        raise TypeError(f"row = {text_of(row)}: must be a row of attnsep learn")
    settings = task(row["task"], row["settings"]).settings
    require_learn_kernel(row["kernel"])
    require_integer("seed", row["seed"], least=0)
    return row | {"settings": settings}


def rows_text(rows):
    """Return rows as text, one a line, in an order that does not depend on which came first.

    Examples
    --------
    >>> rows_text([])
    ''
    """
    rows = _require_rows(rows)
    order = list(TASKS)
    rows.sort(key=lambda row: (order.index(row["task"]), *row["settings"].values(), row["kernel"], row["seed"]))
    return "".join(json.dumps(row) + "\n" for row in rows)


def _require_rows(rows):
    try:
        return [_require_row(row) for row in require_items("rows", rows)]
    except (ValueError, TypeError) as error:
        raise type(error)(f"rows: {error}") from None


def add_row(path, row):
    """Store a row in a table, in place of an earlier one of the same run; the file may be new.

    Parameters
    ----------
    path : str or path
        The table, as in ``files.write``; a device takes the row alone.
    row : dict
        As from ``train.train``.

    Raises
    ------
    ValueError, TypeError
        If the row is none, or the file is there and is no table, or cannot be written.

    Notes
    -----
    Several processes may add rows to one table: ``files.locked`` lets one after the other read, change and write it.
    """
    row = _require_row(row)
    with naming("path", path), locked(path):
        rows = read_rows(path) if Path(path).is_file() else []
        write(path, rows_text([other for other in rows if run_of(other) != run_of(row)] + [row]))


def run_of(row):
    """Return what makes a run: task, kernel, seed and all settings, as one text.

    Examples
    --------
    >>> run_of({"task": "edge", "kernel": "softmax", "seed": 1, "settings": {"n": 64}})
    '["edge", "softmax", 1, {"n": 64}]'
    """
    if not isinstance(row, dict) or not row.keys() >= set(RUN):
        raise TypeError(f"row = {text_of(row)}: must have {', '.join(RUN)}")
    return json.dumps([row[name] for name in RUN])


def command(row):
    """Return the command that makes a row.

    Parameters
    ----------
    row : dict
        A row of a table.

    Returns
    -------
    str
        With the settings that are not the default.

    Examples
    --------
    >>> command(read_rows()[0]).startswith("attnsep learn ")
    True
    """
    row = _require_row(row)
    default = task(row["task"]).settings
    changed = [f"{name}={value}" for name, value in row["settings"].items() if value != default[name]]
    words = f"attnsep learn {row['task']} --kernel {shlex.quote(row['kernel'])} --seed {row['seed']}"
    return f"{words} --set {' '.join(changed)}" if changed else words


def by_seed(rows, name, kernel, path, **wanted):
    """One number of each reported run of a kernel, by its seed.

    Parameters
    ----------
    rows : list of dict
        As from `read_rows`.
    name, kernel : str
        The task and the kernel.
    path : tuple of str
        Where the number stands in the row, such as ``("result", "n = 256")`` or ``("recorded", "gradient", "median")``.
    **wanted
        Settings that the runs must have.

    Returns
    -------
    dict of int to float
        Without the seed `VALIDATION`.  NaN where a run diverged, which is a category of its own, or where the number
        was not finite.

    Raises
    ------
    ValueError, TypeError
        If there is no such run or number, or a seed has several.

    Examples
    --------
    >>> row = next(row for row in read_rows() if row["task"] == "digits" and row["seed"] == 0)
    >>> by_seed([row], "digits", row["kernel"], ("result", "all")) == {row["seed"]: row["result"]["all"]}
    True
    """
    runs = [row for row in _runs_of(rows, name, kernel, wanted) if row["seed"] != VALIDATION]
    if not isinstance(path, tuple) or not all(isinstance(step, str) for step in path):
        raise TypeError(f"path = {text_of(path)}: must be a tuple of texts, such as ('result', 'all')")
    found = {}
    for row in runs:
        if row["seed"] in found:
            raise ValueError(f"rows, name = {text_of(name)}: seed {row['seed']} has several runs with {wanted}")
        found[row["seed"]] = _number(row, path)
    if not found:
        raise ValueError(f"rows, name = {text_of(name)}, kernel = {text_of(kernel)}: no such run with {wanted}")
    return {seed: found[seed] for seed in sorted(found)}


def _runs_of(rows, name, kernel, wanted):
    require_choice("name", name, TASKS)
    kernel = require_learn_kernel(kernel)

    def is_other(row):  # and need not be looked at any further
        return isinstance(row, dict) and (row.get("task"), row.get("kernel")) != (name, kernel)

    for row in _require_rows([row for row in require_items("rows", rows) if not is_other(row)]):
        if all(row["settings"].get(key) == value for key, value in wanted.items()):
            yield row


def _number(row, path):
    value = row
    for step in path:
        if not isinstance(value, dict) or step not in value:
            raise ValueError(f"path = {text_of(path)}: a run has no {text_of(step)}")
        value = value[step]
    if isinstance(value, dict | str | list):
        raise ValueError(f"path = {text_of(path)}: is no number")
    lost = value is None or (path[0] == "result" and path[1:] != ("diverged",) and row["result"]["diverged"])
    return math.nan if lost else float(value)


def chosen_rate(rows, name, kernel, test, **wanted):
    """Learning rate with which a kernel does best in the runs of the seed `VALIDATION`.

    Parameters
    ----------
    rows, name, kernel, **wanted
        As in `by_seed`.
    test : str
        Which number of the result decides; more is better.

    Returns
    -------
    float
        Of equal ones the smallest.  A run that diverged is worse than any other.

    Raises
    ------
    ValueError, TypeError
        If there is no such run or number.

    Examples
    --------
    >>> row = next(row for row in read_rows() if row["task"] == "digits")
    >>> chosen_rate([row | {"seed": VALIDATION}], "digits", row["kernel"], "all") == row["settings"]["rate"]
    True
    """
    if not isinstance(test, str):
        raise TypeError(f"test = {text_of(test)}: must be a text")
    found = {}
    for row in _runs_of(rows, name, kernel, wanted):
        if row["seed"] == VALIDATION:
            if test not in row["result"]:
                raise ValueError(f"test = {text_of(test)}: a run has no such number")
            found[row["settings"]["rate"]] = _number(row, ("result", test))
    if not found:
        raise ValueError(f"rows, name = {text_of(name)}, kernel = {text_of(kernel)}: no run of seed {VALIDATION}")
    return min(found, key=lambda rate: (math.inf if math.isnan(found[rate]) else -found[rate], rate))


class Paired(NamedTuple):
    """Two kernels compared seed by seed, as from `paired`."""

    mean: float
    half: float
    effect: float
    pairs: int
    lost: int


def paired(ones, others, comparisons=1):
    """Differences of two kernels' numbers, seed by seed.

    Parameters
    ----------
    ones, others : dict of int to float
        As from `by_seed`, of the same seeds.
    comparisons : int
        As in `student`.

    Returns
    -------
    Paired
        ``mean`` of the differences ones − others and ``half`` the width of its interval, as in `interval`; ``effect``,
        the mean over the standard deviation of the differences, which says how many times what the seeds alone make it
        is; the number of ``pairs``, and how many were ``lost`` because one of the two diverged.

    Raises
    ------
    ValueError, TypeError
        If the seeds differ, or fewer than two pairs are left.

    Examples
    --------
    >>> found = paired({0: 0.9, 1: 0.8, 2: 0.9}, {0: 0.7, 1: 0.7, 2: math.nan})
    >>> round(found.mean, 3), round(found.effect, 3), found.pairs, found.lost
    (0.15, 2.121, 2, 1)
    """
    for values, which in ((ones, "ones"), (others, "others")):
        if not isinstance(values, dict):
            raise TypeError(f"{which} = {text_of(values)}: must be a dict from seeds to numbers")
    if sorted(ones) != sorted(others):
        raise ValueError(f"ones, others: must have the same seeds, have {sorted(ones)} and {sorted(others)}")
    differences = [ones[seed] - others[seed] for seed in sorted(ones)]
    kept = [value for value in differences if not math.isnan(value)]
    if len(kept) < 2:
        left = "1 pair is" if len(kept) == 1 else "0 pairs are"
        raise ValueError(f"ones, others: {left} left, two are needed")
    mean, half = interval(kept, comparisons)
    spread = stdev(kept)
    effect = mean / spread if spread else math.copysign(math.inf, mean) if mean else 0.0
    return Paired(mean, half, effect, len(kept), len(differences) - len(kept))


def prediction(values, comparisons=1):
    """Interval in which the number of one more seed lies with probability 1 − 0.05/comparisons.

    Parameters
    ----------
    values : sequence of float
        As in `interval`.
    comparisons : int
        As in `student`; 50 make it 99.9 %.

    Returns
    -------
    low, high : float

    Raises
    ------
    ValueError, TypeError
        As in `interval`.

    Notes
    -----
    mean ± t s √(1 + 1/k), where √(1/k) is the uncertainty of the mean and 1 that of the new value.

    Examples
    --------
    >>> [round(x, 3) for x in prediction([0.9, 0.92, 0.94])]
    [0.821, 1.019]
    """
    mean, half = interval(values, comparisons)
    half *= math.sqrt(len(values) + 1)
    return mean - half, mean + half


def student(degrees, comparisons=1):
    """Quantile of Student's t for a 95 % interval that is one of so many.

    Parameters
    ----------
    degrees : int
        Degrees of freedom, 1 to 9.
    comparisons : int
        Number of intervals that hold together with probability 95 %, 1 to 1000.

    Returns
    -------
    float
        The t with P[abs(T) > t] = 0.05/comparisons.

    Raises
    ------
    ValueError, TypeError
        If a number breaks one of these rules.

    Notes
    -----
    Bonferroni: that one of the intervals misses is at most as probable as the sum.  P[abs(T) ≤ t] is a finite sum over
    powers of cos² θ, θ = arctan(t/√degrees); bisection over θ.

    Examples
    --------
    >>> round(student(2), 3), round(student(2, 8), 3)
    (4.303, 12.59)
    """
    degrees = require_integer("degrees", degrees, least=1, most=MOST_VALUES - 1)
    wanted = 1 - 0.05 / require_integer("comparisons", comparisons, least=1, most=MOST_COMPARISONS)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _inside(middle, degrees) < wanted else (low, middle)
    return math.sqrt(degrees) * math.tan(low)


def _inside(theta, degrees):
    """Return P[|T| ≤ √degrees·tan θ]."""
    cosine, odd = math.cos(theta), degrees % 2
    term, total = (cosine if odd else 1.0), 0.0
    for k in range(1, degrees // 2 + 1):
        total += term
        term *= cosine**2 * (2 * k / (2 * k + 1) if odd else (2 * k - 1) / (2 * k))
    return 2 / math.pi * (theta + math.sin(theta) * total) if odd else math.sin(theta) * total


def interval(values, comparisons=1):
    """Mean of two to ten independent values and the half-width of its 95 % interval.

    Parameters
    ----------
    values : sequence of float
        One for each seed.
    comparisons : int
        As in `student`: with how many such intervals, this one included, it is to hold together.

    Returns
    -------
    mean, half : float

    Raises
    ------
    ValueError, TypeError
        If there are fewer than two values or more than ten, or one is not finite.

    Notes
    -----
    Student's t: half = t s/√k with the standard deviation s of k values.  It supposes that they are about Gaussian; of
    values that nearly all sit at a border, such as an accuracy of 1, it says little.

    Examples
    --------
    >>> [round(x, 3) for x in interval([0.9, 0.92, 0.94])]
    [0.92, 0.05]
    >>> round(interval([0.9, 0.92, 0.94], comparisons=8)[1], 3)
    0.145
    """
    values = [require_real("values", value) for value in require_items("values", values)]
    if not 2 <= len(values) <= MOST_VALUES:
        raise ValueError(f"values = {values}: must be two to ten numbers")
    return fmean(values), student(len(values) - 1, comparisons) * stdev(values) / math.sqrt(len(values))
