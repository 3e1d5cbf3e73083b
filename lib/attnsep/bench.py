"""What attention costs: multiply-adds as formulas, and seconds as measured."""

import json
import os
import platform
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path

from attnsep.arrays import require_choice, text_of
from attnsep.attention import attend
from attnsep.data import require_integer, require_items, require_positive
from attnsep.files import write
from attnsep.spec import PAIR, require_pair

N = tuple(2**k for k in range(4, 14))
D = (32, 64, 128)
DTYPES = ("float64", "float32")
MOST_NUMBERS = 10**8  # of one matrix
LEAST_REPEATS, MOST_REPEATS = 5, 301
BLAS_SETTINGS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def multiply_adds(n, d, kernel):
    """Multiply-adds in the matrix products of ``attention.attend``, for n queries, keys and values of width d.

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
    for the row sums and the check that they do not cancel.  Exponentials and plain additions are not counted.
    Extension.  Claim: attention-cost.

    Examples
    --------
    >>> multiply_adds(1024, 64, "softmax"), multiply_adds(1024, 64, "linear")
    (134217728, 8519680)
    """
    n, d = require_integer("n", n, least=1), require_integer("d", d, least=1)
    return 2 * n * n * d if require_pair(kernel) == "softmax" else 2 * n * d * (d + 1)


def bench(n=N, d=D, dtype="float64", *, seconds=1.0, progress=False):
    """Time softmax and linear attention on random matrices, in turns.

    Parameters
    ----------
    n, d : sequence of int
        Sizes; every pair is timed, n queries, keys and values of width d.
    dtype : str
        float64 or float32.
    seconds : float
        About how long to repeat each pair; the number of repeats is at least 5 and at most 301.
    progress : bool
        Show a bar on standard error if that is a terminal.

    Returns
    -------
    dict
        Ready for json.dump: date, machine, versions, and one row for each mechanism, n, d and dtype with its number of
        repeats and the median, least and largest time in seconds.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    All entries are positive, so that no row sum of linear attention cancels.  No two query rows are equal, and the
    search for equal ones is off.  Extension.

    Examples
    --------
    >>> [(row["mechanism"], row["n"]) for row in bench([8], [4], seconds=0.001)["rows"]]
    [('softmax', 8), ('linear', 8)]
    """
    require_choice("dtype", dtype, DTYPES)
    n, d = (
        [require_integer(name, x, least=1) for x in require_items(name, sizes)] for name, sizes in (("n", n), ("d", d))
    )
    for name, sizes in (("n", n), ("d", d)):
        if not sizes:
            raise ValueError(f"{name} = []: must have at least one size")
    if (most := max(n) * max(d)) > MOST_NUMBERS:
        raise ValueError(f"n, d: the largest matrix has {most:.3g} numbers, must be at most {MOST_NUMBERS:.0e}")
    pairs = [(x, y) for y in d for x in n]
    seconds = require_positive("seconds", seconds)
    rows = [row for pair in _shown(pairs, progress) for row in _timed(*pair, dtype, seconds)]
    return {"date": datetime.now(UTC).date().isoformat(), **_machine(), "rows": rows}


def _shown(pairs, progress):
    if not progress:
        return pairs
    try:
        from tqdm import tqdm
    except ImportError:  # a bar is a comfort, not a dependency
        return pairs
    return tqdm(pairs, unit="size", disable=None, leave=False)


def _timed(n, d, dtype, seconds):
    """Return one row for each mechanism, timed in turns, so that what else the machine does falls on both."""
    import numpy as np

    rng = np.random.default_rng(0)
    q, k, v = (rng.uniform(0.1, 1, (n, d)).astype(dtype) / np.sqrt(d, dtype=dtype) for _ in range(3))
    times = {kernel: [] for kernel in PAIR}
    for kernel in PAIR:  # a first call also pays for what it loads
        attend(q, k, v, kernel=kernel, unique=False)
    end = time.perf_counter() + seconds
    while len(times["linear"]) < LEAST_REPEATS or (time.perf_counter() < end and len(times["linear"]) < MOST_REPEATS):
        for kernel, found in times.items():
            start = time.perf_counter()
            attend(q, k, v, kernel=kernel, unique=False)
            found.append(time.perf_counter() - start)
    return [_row(kernel, n, d, dtype, found) for kernel, found in times.items()]


def _row(kernel, n, d, dtype, times):
    ends = {"median": statistics.median(times), "min": min(times), "max": max(times)}
    sizes = {"mechanism": kernel, "n": n, "d": d, "dtype": dtype, "repeats": len(times)}
    return sizes | {name: float(f"{value:.4g}") for name, value in ends.items()}


def _machine():
    import numpy as np

    return {
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "system": platform.system()},
        "versions": {"Python": platform.python_version(), "NumPy": np.__version__},
        "blas": _blas(),
        "settings": {name: os.environ[name] for name in BLAS_SETTINGS if name in os.environ},
    }


def _cpu():
    """Return the processor's name; Linux keeps it in a file, and `platform` often has only the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _blas():
    """Return name, version, kernel and threads of NumPy's BLAS, as far as they can be found out."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        import numpy as np

        found = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return {"name": found.get("name"), "version": found.get("version"), "kernel": None, "threads": None}
    found = next((pool for pool in threadpool_info() if pool["user_api"] == "blas"), {})
    names = {"name": "internal_api", "version": "version", "kernel": "architecture", "threads": "num_threads"}
    return {name: found.get(key) for name, key in names.items()}


def crossover(rows, d, dtype="float64"):
    """Smallest measured n from which on linear attention took less time, by the medians, at every measured n.

    Parameters
    ----------
    rows : list of dict
        As from `bench`.
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
    ...     {"mechanism": name, "n": n, "d": 8, "dtype": "float64", "median": time}
    ...     for name, times in (("softmax", (1.0, 2.0, 9.0)), ("linear", (2.0, 1.0, 1.0)))
    ...     for n, time in zip((4, 8, 16), times)
    ... ]
    >>> crossover(rows, 8)
    8
    """
    found = medians(rows, d, dtype)
    if any(set(times) != set(PAIR) for times in found.values()):
        raise ValueError("rows: every n must have a row for softmax and one for linear")
    last = None
    for n in sorted(found, reverse=True):
        if found[n]["linear"] >= found[n]["softmax"]:
            break
        last = n
    return last


def medians(rows, d, dtype="float64"):
    """Return the median times in seconds as {n: {mechanism: median}}, n ascending.

    Raises
    ------
    ValueError
        If there are no rows of this width and dtype.
    """
    d, dtype, found = require_integer("d", d, least=1), require_choice("dtype", dtype, DTYPES), {}
    for row in sorted(_timed_rows(rows), key=lambda row: row["n"]):
        if (row["d"], row["dtype"]) == (d, dtype):
            found.setdefault(row["n"], {})[row["mechanism"]] = row["median"]
    if not found:
        raise ValueError(f"rows, d = {text_of(d)}, dtype = {text_of(dtype)}: the result has no such rows")
    return found


def _timed_rows(rows):
    """Return the rows of a result, or raise an error that names them."""
    rows = require_items("rows", rows)
    for row in rows:
        if not isinstance(row, dict) or not {"mechanism", "n", "d", "dtype", "median"} <= row.keys():
            raise TypeError(f"rows: one is {text_of(row)}, must be a row of a result")
        require_integer("n", row["n"], least=1)
        require_positive("median", row["median"])
    return rows


def result_path():
    """Return where the result lies that the book shows."""
    return Path(__file__).parent / "claims" / "bench.json"


def read_result(path=None):
    """Return a stored result of `bench`; left out, the one that the book shows.

    Raises
    ------
    ValueError
        If there is no such file, or it holds no result.
    """
    path = result_path() if path is None else path
    try:
        path = Path(path)
        result = json.loads(path.read_text(encoding="utf-8"))
        _timed_rows(result["rows"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"path = {text_of(path)}: is no result of attnsep bench ({what})") from None
    return result


def write_result(path, result):
    """Store a result in a temporary file beside `path` and rename it, so that no one ever reads half of it.

    Raises
    ------
    ValueError, TypeError
        If the result is none or the file cannot be written.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path = {text_of(path)}: must be a path")
    path, text = Path(path), result_text(result)
    if path.is_dir():
        raise ValueError(f"path = {str(path)!r}: is a folder, must be a file")
    try:
        write(path, text)
    except OSError as error:
        raise ValueError(f"path = {str(path)!r}: cannot be written ({error.strerror or error})") from None


def result_text(result):
    """Return a result as text, one row a line.

    Examples
    --------
    >>> json.loads(result_text({"date": "2026-01-31", "rows": [{"n": 1}, {"n": 2}]}))["rows"]
    [{'n': 1}, {'n': 2}]
    """
    if not isinstance(result, dict) or not isinstance(result.get("rows"), list):
        raise TypeError(f"result = {text_of(result)}: must be a result of `bench`")
    rows = ",\n".join(f"  {json.dumps(row)}" for row in result["rows"])
    head = json.dumps({name: value for name, value in result.items() if name != "rows"}, indent=1, ensure_ascii=False)
    return f'{head[:-2]},\n "rows": [\n{rows}\n ]\n}}\n'
