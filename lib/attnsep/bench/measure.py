"""Measure what attention costs, in seconds and in memory, beside PyTorch where it is installed."""

import importlib.metadata
import math
import os
import platform
import statistics
import time
import warnings
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import array_api_compat.numpy
import numpy as np
from array_api_compat import is_cupy_namespace

from attnsep.arrays import backend_name, given_namespace, namespace
from attnsep.attention import _fast
from attnsep.attention.attend import attend, values
from attnsep.attention.kernels import PAIR
from attnsep.bench.cost import BARE, DTYPES, LEVEL, OURS, PEER, RESAMPLES
from attnsep.checks import require_choice, require_integer, require_items, require_positive
from attnsep.paper.tokens import Law, TokenData
from attnsep.processes import ENDED, FreshProcesses

N = tuple(2**k for k in range(4, 18))


D = (34, 66, 130)  # so that token data, n = (d − 2)t, exist at every n ≥ d − 2


MOST_NUMBERS = 10**8  # of one matrix


MOST_WORK = 36 * 10**9  # n²d of softmax, some seconds on two cores


SECONDS = 0.25


# Of each contender; more than the least while the interval is still wide.  On a machine that others disturb, one turn's
# ratio may be off by a quarter, and then it takes about thirty.
LEAST_TURNS, MOST_TURNS = 8, 40


WIDEST = 1.2  # the upper end of a settled interval over its lower end


MOST_LOAD = 0.1  # of the cores, that others keep busy


LEAST_N_FOR_MEMORY = 1024  # below, the fixed blocks are all there is


BLAS_SETTINGS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


PADDED = f"{PEER}, padded"


# After a call threads spin and hold the cores, those of PyTorch for some 10 milliseconds and those of OpenBLAS for some
# 100; and threads that wake share a core for up to 50 before the system spreads them.  So each contender is a process
# of its own, all rest for REST seconds before its turn, and in it a call that takes less than SHORT is repeated for
# SPIN seconds before those that count.
REST, SHORT, SPIN = 0.12, 0.05, 0.1


BARE_SCORES = 2**21  # at a time, of NumPy alone


STRENGTHS = {"a": "0.7", "c": "0.5"}  # of the token data that are timed


def bench(n=N, d=D, dtype=("float64",), *, seconds=SECONDS, most_work=MOST_WORK, progress=False, xp=None):
    """Time softmax and linear attention in turns, beside PyTorch where it is installed, and measure their memory.

    Parameters
    ----------
    n, d : sequence of int
        Sizes; every pair is timed, n queries, keys and values of width d.
    dtype : sequence of str
        float64, float32 or both.
    seconds : float
        About how long to repeat each call of a pair, in its first 8 turns together; it has up to 40.
    most_work : float
        Largest n²d at which softmax attention on random matrices is timed; beyond it these rows are left out.
    progress : bool
        Show a bar on standard error if that is a terminal.
    xp : module, optional
        Array namespace to time; left out, NumPy.  With CuPy, PyTorch's tensors are on the GPU as well.

    Returns
    -------
    dict
        Ready for json.dump: date, machine, versions, load, limits, and one row for each attention, library, n, d and
        dtype: the times of its turns, their median and the largest, the least time of a call, all in seconds, and the
        memory in bytes that a call adds at its peak, output included; None where it is not measured (Linux and
        n ≥ 1024, or a GPU).  A row of the library also has its ratio to PyTorch (without it, to its own median): lower
        end, middle and upper end; and whether it is settled, that is, whether the ends are at most 20 % apart.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    Each library is a process of its own.  They take turns, each after all have rested until their threads sleep; a
    turn's time is the median of its calls.  Each turn gives one ratio, so that what slows down a whole turn cancels;
    the ratio is the geometric mean of the turns', its ends are those of a bootstrap of the turns at 95 %.  Turns go on
    until it is settled, or there have been 40; what is not settled then is timed anew after all others.  The rows of
    ``NumPy`` are the same products and powers alone: what no attention that is built from them in NumPy can do without.

    Softmax on random matrices with scores of standard deviation 3, PyTorch's with the better of d and of d padded to a
    multiple of 16, left out where a GPU has no room for it; linear attention on positive ones, so that no row sum
    cancels, PyTorch's as two products over a row sum.  No two query rows are equal, and the search for equal ones is
    off.  ``token data`` is ``attention.values`` for softmax on token data, where n = (d − 2)t; ``closed form`` is
    ``Law.values`` on the same.
    Memory on Linux is that of a fresh process.  Extension.

    Examples
    --------
    >>> rows = bench([8], [4], seconds=0.001)["rows"]
    >>> [(row["mechanism"], row["n"]) for row in rows if row["library"] == "attnsep"]
    [('softmax', 8), ('linear', 8), ('token data', 8), ('closed form', 8)]
    """
    dtype = [require_choice("dtype", x, DTYPES) for x in require_items("dtype", dtype)]
    n, d = (
        [require_integer(name, x, least=1) for x in require_items(name, sizes)] for name, sizes in (("n", n), ("d", d))
    )
    for name, sizes in (("n", n), ("d", d), ("dtype", dtype)):
        if not sizes:
            raise ValueError(f"{name} = []: must have at least one entry")
    if (most := max(n) * max(d)) > MOST_NUMBERS:
        raise ValueError(f"n, d: the largest matrix has {most:.3g} numbers, must be at most {MOST_NUMBERS:.0e}")
    seconds, most_work = require_positive("seconds", seconds), require_positive("most_work", most_work)
    xp = array_api_compat.numpy if xp is None else given_namespace(xp)
    if not _fast.serves(xp):
        raise ValueError(f"xp = {backend_name(xp)}: must be NumPy or CuPy")
    sizes = [(x, y, kind) for kind in dtype for y in d for x in n]
    before = load(min(1.0, seconds))
    with _contenders(xp) as take_turn:
        found = [_timed(take_turn, *size, seconds, most_work) for size in _shown(sizes, progress)]
        for i, size in enumerate(sizes):  # the machine may have been restless then
            if not _settled(found[i]):
                found[i] = _timed(take_turn, *size, seconds, most_work)
    timed = [pair for pairs in found for pair in pairs]
    _add_memory(xp, timed, progress)
    limits = {kind: _limits(xp, kind, min(1.0, 4 * seconds)) for kind in dtype}
    head = {"date": datetime.now(UTC).date().isoformat(), **_machine(xp)}
    head |= {"load": {"before": before, "after": load(min(1.0, seconds))}, "limits": limits}
    return head | {"rows": [row for _, row in timed]}


def load(seconds=1.0):
    """Return which part of the cores other processes keep busy, or None where the system does not tell.

    Examples
    --------
    >>> found = load(0.05)
    >>> found is None or 0 <= found <= 1
    True
    """
    seconds, start = require_positive("seconds", seconds), _ticks()
    time.sleep(seconds)
    if start is None:
        return None
    idle, total = (after - before for before, after in zip(start, _ticks(), strict=True))
    return round(1 - idle / total, 3) if total else None


def _ticks():
    """Return how long all cores were idle, and how long they have run; None where no file says so."""
    try:
        numbers = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    except (OSError, ValueError):
        return None
    return numbers[3] + numbers[4], sum(numbers)


@contextmanager
def _contenders(xp):
    """Lend a function that has each contender take a turn, one after the other, in a process of its own."""
    libraries = [OURS, *([PEER] if _peer(xp) else []), BARE]
    with ExitStack() as stack:
        pools = {library: stack.enter_context(FreshProcesses(1)) for library in libraries}

        def take_turn(*size):
            turns = [pool.submit(_turn, library, backend_name(xp), *size).result() for library, pool in pools.items()]
            return {key: times for turn in turns for key, times in turn.items()}

        yield take_turn


def _shown(items, progress):
    if not progress:
        return items
    try:
        from tqdm import tqdm
    except ImportError:  # a bar is a comfort, not a dependency
        return items
    return tqdm(items, unit="size", disable=None, leave=False)


def _calls(xp, n, d, dtype, libraries=(OURS, PEER)):
    """Return what is timed of some libraries, as {(attention, library): function without arguments}."""
    rng = np.random.default_rng(0)
    normal = [(rng.standard_normal((n, d)) * math.sqrt(3) / d**0.25).astype(dtype) for _ in range(3)]
    positive = [rng.uniform(0.1, 1, (n, d)).astype(dtype) for _ in range(3)]
    calls = {}
    if OURS in libraries:
        ours = [[xp.asarray(x) for x in arrays] for arrays in (normal, positive)]
        calls["softmax", OURS] = lambda: attend(*ours[0], unique=False)
        calls["linear", OURS] = lambda: attend(*ours[1], kernel="linear", unique=False)
        if d > 2 and n % (d - 2) == 0:
            data = TokenData(n=n, d=d, **STRENGTHS)
            A, X = (make(xp, getattr(xp, dtype)) for make in (data.matrix, data.X))
            calls["token data", OURS] = lambda: values(A, A, A, X)
            calls["closed form", OURS] = lambda: Law(TokenData(n=n, d=d, **STRENGTHS)).values()
    if PEER in libraries and _peer(xp):
        calls |= _peer_calls(normal, positive, "cuda" if is_cupy_namespace(xp) else "cpu")
    if BARE in libraries:
        calls |= _bare_calls(xp, *([xp.asarray(x) for x in arrays] for arrays in (normal, positive)))
    return calls


def _bare_calls(xp, normal, positive):
    """Return the products and powers of both attentions alone: no row sum is divided by, nothing is looked at."""
    (q, k, v), (rows, keys, entries) = normal, positive
    step = max(1, BARE_SCORES // k.shape[0])
    output = xp.empty_like(q)

    def softmax():
        scores = xp.empty((min(step, q.shape[0]), k.shape[0]), dtype=q.dtype)
        for start in range(0, q.shape[0], step):
            some = scores[: q[start : start + step].shape[0]]
            xp.matmul(q[start : start + step], k.T, out=some)
            xp.matmul(_fast._exp2(some, some), v, out=output[start : start + step])
        return output

    def linear():
        return rows @ (keys.T @ entries), rows @ keys.sum(axis=0)

    return {("softmax", BARE): softmax, ("linear", BARE): linear}


def _peer(xp):
    """Return PyTorch where it can compute beside the library, else None."""
    if not find_spec("torch"):
        return None
    try:
        import torch
    except (ImportError, OSError) as error:  # CUDA libraries that CuPy has loaded may be other versions than it needs
        warnings.warn(f"PyTorch is installed but cannot be loaded here, so it is left out: {error}", stacklevel=2)
        return None
    return torch if torch.cuda.is_available() or not is_cupy_namespace(xp) else None


def _peer_calls(normal, positive, place):
    """Return PyTorch's part of the calls: attention of one head that is not divided by √d, and two products."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    def tensors(arrays, pad=0):
        return [torch.from_numpy(np.pad(x, ((0, 0), (0, pad)))[None, None]).to(place) for x in arrays]

    plain, padded = tensors(normal), tensors(normal, -normal[0].shape[1] % 16)
    q, k, v = (x[0, 0] for x in tensors(positive))
    return {
        ("softmax", PEER): lambda: scaled_dot_product_attention(*plain, scale=1.0),
        ("softmax", PADDED): lambda: scaled_dot_product_attention(*padded, scale=1.0),
        ("linear", PEER): lambda: (q @ (k.T @ v)) / (q @ k.sum(0))[:, None],
    }


def _timed(take_turn, n, d, dtype, seconds, most_work):
    """Return pairs of a call's key and its row, after as many turns as they need, up to a limit."""
    times = {}
    for turn in range(1, MOST_TURNS + 1):
        for key, found in take_turn(n, d, dtype, seconds / LEAST_TURNS, most_work).items():
            times.setdefault(key, []).append(found)
        if turn >= LEAST_TURNS:
            pairs = _pairs(times, n, d, dtype)
            if _settled(pairs):
                break
    return pairs


def _settled(pairs):
    return all(row.get("settled", True) for _, row in pairs)


def _pairs(times, n, d, dtype):
    """Return pairs of a call's key and its row; of PyTorch's plain and padded softmax the better one."""
    middles = {key: [statistics.median(found) for found in turns] for key, turns in times.items()}
    peers = [key for key in (("softmax", PEER), ("softmax", PADDED)) if key in times]
    worse = sorted(peers, key=lambda key: statistics.median(middles[key]))[1:]
    pairs = [(key, _row(key, n, d, dtype, turns)) for key, turns in times.items() if key not in worse]
    peer_of = {key[0]: middles[key] for key, _ in pairs if _of(key) == PEER}
    for key, row in pairs:
        if key[1] == OURS:
            row["ratio"] = _interval(middles[key], peer_of.get(key[0]))
            row["settled"] = row["ratio"][2] <= WIDEST * row["ratio"][0]
    return pairs


def _interval(times, others=None):
    """Return the mean ratio of one contender's turns to another's, or to the median of its own, and its ends."""
    ratios = np.log(times) - np.log(others or statistics.median(times))
    picked = np.random.default_rng(0).integers(ratios.size, size=(RESAMPLES, ratios.size))
    low, high = np.quantile(ratios[picked].mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return [float(f"{x:.4g}") for x in np.exp([low, ratios.mean(), high])]


def _turn(library, backend, *size):
    """Return the times of one contender's turn, {key: seconds of each call}, in its own process."""
    n, d, dtype, seconds, most_work = size
    xp = namespace(backend)
    made, wait, found = _made(library, backend, n, d, dtype, n * n * d <= most_work), _waiter(xp), {}
    part = min(1.0, seconds * LEAST_TURNS / SECONDS)  # a measurement that is shorter than usual prepares less for it
    time.sleep(part * REST)
    for key, (call, last) in made.items():
        if last < SHORT:
            _repeat(call, wait, part * SPIN)
        found[key] = _repeat(call, wait, seconds)
        made[key] = call, found[key][-1]
    return found


@lru_cache(maxsize=1)
def _made(library, backend, n, d, dtype, softmax):
    """Return the calls of one library that find room, each called once, and how long that took."""
    xp = namespace(backend)
    calls, wait = _calls(xp, n, d, dtype, (library,)), _waiter(xp)
    if not softmax:
        calls = {key: call for key, call in calls.items() if key[0] != "softmax"}
    first = {key: _first(xp, library, call, wait) for key, call in calls.items()}
    return {key: (calls[key], seconds) for key, seconds in first.items() if seconds is not None}


def _first(xp, library, call, wait):
    """Return the seconds of the first call, which also pays for what it loads; None if a GPU has no room for it."""
    try:
        return _repeat(call, wait, 0)[0]
    except RuntimeError as error:
        torch = _peer(xp)
        if library != PEER or not isinstance(error, torch.cuda.OutOfMemoryError):
            raise
        torch.cuda.empty_cache()
        return None


def _repeat(call, wait, seconds):
    """Call once, and again for so many seconds; return how long each call took."""
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - start)
    return times


def _row(key, n, d, dtype, turns):
    middles = [statistics.median(times) for times in turns]
    ends = {
        "median": statistics.median(middles),
        "min": min(time for times in turns for time in times),
        "max": max(middles),
    }
    sizes = {"mechanism": key[0], "library": _of(key), "n": n, "d": d, "dtype": dtype}
    numbers = {name: float(f"{value:.4g}") for name, value in ends.items()}
    return sizes | numbers | {"turns": [float(f"{x:.4g}") for x in middles], "memory": None}


def _waiter(xp):
    """Return what waits for a GPU to finish; a call returns before its work is done."""
    if not is_cupy_namespace(xp):
        return lambda: None
    import cupy

    return cupy.cuda.Device().synchronize


def _add_memory(xp, timed, progress=False):
    """Put the measured memory of the calls into the rows of softmax and linear attention."""
    timed = [(key, row) for key, row in timed if key[1] != BARE and key[0] in PAIR and row["n"] >= LEAST_N_FOR_MEMORY]
    sizes = ("n", "d", "dtype")
    if is_cupy_namespace(xp):
        for key, row in _shown(timed, progress):
            row["memory"] = _added_on_gpu(xp, key, *(row[name] for name in sizes))
    elif timed and os.access("/proc/self/clear_refs", os.W_OK):
        # Every array that it lets go of returns to the system, so that peaks are true ones.
        with FreshProcesses(1, MALLOC_MMAP_THRESHOLD_=str(2**16)) as pool:
            for key, row in _shown(timed, progress):
                try:
                    row["memory"] = pool.submit(_added, key, *(row[name] for name in sizes)).result()
                except BrokenProcessPool:
                    warnings.warn(
                        f"memory is not measured from n = {row['n']}, d = {row['d']} on: {ENDED}", stacklevel=2
                    )
                    return


def _added(key, n, d, dtype):
    """Return the bytes that this process holds more at the peak of a call than before it."""
    _calls(array_api_compat.numpy, 256, d, dtype, (_of(key),))[key]()  # loads libraries, starts threads
    call = _calls(array_api_compat.numpy, n, d, dtype, (_of(key),))[key]
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts here
    before = _resident("VmRSS")
    call()
    return max(0, _resident("VmHWM") - before)


def _of(key):
    """Return the library that a call is of."""
    return PEER if key[1] == PADDED else key[1]


def _resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def _added_on_gpu(xp, key, n, d, dtype):
    """Return the bytes that a call takes at its peak: PyTorch counts them; CuPy gets an own pool, which keeps all."""
    call = _calls(xp, n, d, dtype, (_of(key),))[key]
    if key[1] != OURS:
        torch = _peer(xp)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    import cupy

    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        call()
        _waiter(xp)()
    return pool.total_bytes()


def _limits(xp, dtype, seconds):
    """Return multiply-adds and powers of two per second: no attention built from them takes less time."""
    module = _fast._library(xp.asarray(1.0))
    wait, side, blocks = _waiter(xp), 1024 if module is np else 8192, 64
    one = module.ones((side, side), dtype=dtype)
    _, scores = _fast._panel(one)

    def powers(todo):
        exponents = module.zeros(scores, dtype=dtype)
        found = module.empty_like(exponents)
        for _ in todo:
            _fast._exp2(exponents, found)

    def best(call):
        _repeat(call, wait, seconds)
        return min(_repeat(call, wait, seconds))

    product, power = best(lambda: one @ one), best(lambda: _fast._share(module, powers, blocks, 1, None, True))
    rates = {"multiply_adds": side**3 / product, "powers": blocks * scores / power}
    return {name: float(f"{rate:.4g}") for name, rate in rates.items()}


def _machine(xp):
    gpu = {}
    versions = {"Python": platform.python_version(), "NumPy": np.__version__}
    threads = {OURS: _fast.cores()}
    if torch := _peer(xp):
        versions[PEER] = torch.__version__
        threads[PEER] = torch.get_num_threads()
    if find_spec("threadpoolctl"):
        versions["threadpoolctl"] = importlib.metadata.version("threadpoolctl")
    if is_cupy_namespace(xp):
        import cupy

        versions["CuPy"] = cupy.__version__
        gpu = {"gpu": cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()}
    return {
        "machine": {"cpu": cpu(), "cores": os.cpu_count(), "system": platform.system(), **gpu},
        "versions": versions,
        "threads": threads,
        "blas": _blas(),
        "settings": {name: os.environ[name] for name in BLAS_SETTINGS if name in os.environ},
    }


def cpu():
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
        found = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return {"name": found.get("name"), "version": found.get("version"), "kernel": None, "threads": None}
    found = next((pool for pool in threadpool_info() if pool["user_api"] == "blas"), {})
    names = {"name": "internal_api", "version": "version", "kernel": "architecture", "threads": "num_threads"}
    return {name: found.get(key) for name, key in names.items()}
