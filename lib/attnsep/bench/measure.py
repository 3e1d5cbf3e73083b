"""Measure what attention costs, in seconds and in memory, beside PyTorch where it is installed."""

import importlib.metadata
import math
import os
import platform
import statistics
import time
import warnings
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import array_api_compat.numpy
import numpy as np
from array_api_compat import is_cupy_namespace

from attnsep.arrays import backend_name, given_namespace
from attnsep.attention import _fast
from attnsep.attention.attend import attend, values
from attnsep.attention.kernels import PAIR
from attnsep.bench.cost import DTYPES, OURS, PEER
from attnsep.checks import require_choice, require_integer, require_items, require_positive
from attnsep.paper.tokens import Law, TokenData
from attnsep.processes import ENDED, FreshProcesses

N = tuple(2**k for k in range(4, 18))


D = (34, 66, 130)  # so that token data, n = (d − 2)t, exist at every n ≥ d − 2


MOST_NUMBERS = 10**8  # of one matrix


MOST_WORK = 4 * 10**10  # n²d of softmax, some seconds on two cores


LEAST_REPEATS, MOST_REPEATS = 5, 301


LEAST_N_FOR_MEMORY = 1024  # below, the fixed blocks are all there is


BLAS_SETTINGS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


PADDED = f"{PEER}, padded"


# After a call threads spin and hold the cores, those of PyTorch for some 10 milliseconds and those of OpenBLAS for some
# 100; and threads that wake share a core for up to 50 before the system spreads them.  So all rest for REST seconds
# before each call that counts, and one that takes less than SHORT is repeated before it for SPIN seconds.
REST, SHORT, SPIN = 0.12, 0.05, 0.1


STRENGTHS = {"a": "0.7", "c": "0.5"}  # of the token data that are timed


def bench(n=N, d=D, dtype=("float64",), *, seconds=1.0, most_work=MOST_WORK, progress=False, xp=None):
    """Time softmax and linear attention in turns, beside PyTorch where it is installed, and measure their memory.

    Parameters
    ----------
    n, d : sequence of int
        Sizes; every pair is timed, n queries, keys and values of width d.
    dtype : sequence of str
        float64, float32 or both.
    seconds : float
        About how long to repeat each pair; the number of repeats is at least 5 and at most 301.
    most_work : float
        Largest n²d at which softmax attention on random matrices is timed; beyond it these rows are left out.
    progress : bool
        Show a bar on standard error if that is a terminal.
    xp : module, optional
        Array namespace to time; left out, NumPy.  With CuPy, PyTorch's tensors are on the GPU as well.

    Returns
    -------
    dict
        Ready for json.dump: date, machine, versions, limits, and one row for each attention, library, n, d and dtype
        with its number of repeats, the median, least and largest time in seconds, and the memory in bytes that a call
        adds at its peak, output included; None where it is not measured (Linux and n ≥ 1024, or a GPU).

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
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
    timed = [pair for size in _shown(sizes, progress) for pair in _timed(xp, *size, seconds, most_work)]
    _add_memory(xp, timed, progress)
    limits = {kind: _limits(xp, kind, min(SPIN, seconds)) for kind in dtype}
    head = {"date": datetime.now(UTC).date().isoformat(), **_machine(xp), "limits": limits}
    return head | {"rows": [row for _, row in timed]}


def _shown(items, progress):
    if not progress:
        return items
    try:
        from tqdm import tqdm
    except ImportError:  # a bar is a comfort, not a dependency
        return items
    return tqdm(items, unit="size", disable=None, leave=False)


def _calls(xp, n, d, dtype):
    """Return what is timed, as {(attention, library): function without arguments}."""
    rng = np.random.default_rng(0)
    normal = [(rng.standard_normal((n, d)) * math.sqrt(3) / d**0.25).astype(dtype) for _ in range(3)]
    positive = [rng.uniform(0.1, 1, (n, d)).astype(dtype) for _ in range(3)]
    ours = [[xp.asarray(x) for x in arrays] for arrays in (normal, positive)]
    calls = {
        ("softmax", OURS): lambda: attend(*ours[0], unique=False),
        ("linear", OURS): lambda: attend(*ours[1], kernel="linear", unique=False),
    }
    if _peer(xp):
        calls |= _peer_calls(normal, positive, "cuda" if is_cupy_namespace(xp) else "cpu")
    if d > 2 and n % (d - 2) == 0:
        data = TokenData(n=n, d=d, **STRENGTHS)
        A, X = (make(xp, getattr(xp, dtype)) for make in (data.matrix, data.X))
        calls["token data", OURS] = lambda: values(A, A, A, X)
        calls["closed form", OURS] = lambda: Law(TokenData(n=n, d=d, **STRENGTHS)).values()
    return calls


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


def _timed(xp, n, d, dtype, seconds, most_work):
    """Return pairs of a call's key and its row, timed in turns, so that what else the machine does falls on all."""
    calls, wait = _calls(xp, n, d, dtype), _waiter(xp)
    if n * n * d > most_work:
        calls = {key: call for key, call in calls.items() if key[0] != "softmax"}
    calls = {key: call for key, call in calls.items() if _finds_room(xp, key[1], call, wait)}
    times, end, turns = {key: [] for key in calls}, time.perf_counter() + seconds, 0
    while turns < LEAST_REPEATS or (time.perf_counter() < end and turns < MOST_REPEATS):
        for key, call in calls.items():
            time.sleep(min(REST, seconds))
            if not times[key] or times[key][-1] < SHORT:
                _repeat(call, wait, min(SPIN, seconds))
            start = time.perf_counter()
            call()
            wait()
            times[key].append(time.perf_counter() - start)
        turns += 1
    middle = {key: statistics.median(found) for key, found in times.items()}
    both = sorted(middle.keys() & {("softmax", PEER), ("softmax", PADDED)}, key=middle.get)
    return [(key, _row(key, n, d, dtype, found)) for key, found in times.items() if key not in both[1:]]


def _finds_room(xp, library, call, wait):
    """Make the first call, which also pays for what it loads; return whether PyTorch found room on the GPU for it."""
    try:
        call()
        wait()
    except RuntimeError as error:
        torch = _peer(xp)
        if library == OURS or not isinstance(error, torch.cuda.OutOfMemoryError):
            raise
        torch.cuda.empty_cache()
        return False
    return True


def _repeat(call, wait, seconds):
    end = time.perf_counter() + seconds
    call()
    wait()
    while time.perf_counter() < end:
        call()
        wait()


def _row(key, n, d, dtype, times):
    ends = {"median": statistics.median(times), "min": min(times), "max": max(times)}
    library = OURS if key[1] == OURS else PEER
    sizes = {"mechanism": key[0], "library": library, "n": n, "d": d, "dtype": dtype, "repeats": len(times)}
    return sizes | {name: float(f"{value:.4g}") for name, value in ends.items()} | {"memory": None}


def _waiter(xp):
    """Return what waits for a GPU to finish; a call returns before its work is done."""
    if not is_cupy_namespace(xp):
        return lambda: None
    import cupy

    return cupy.cuda.Device().synchronize


def _add_memory(xp, timed, progress=False):
    """Put the measured memory of the calls into the rows of softmax and linear attention."""
    timed = [(key, row) for key, row in timed if key[0] in PAIR and row["n"] >= LEAST_N_FOR_MEMORY]
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
    _calls(array_api_compat.numpy, 256, d, dtype)[key]()  # loads libraries, starts threads
    call = _calls(array_api_compat.numpy, n, d, dtype)[key]
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts here
    before = _resident("VmRSS")
    call()
    return max(0, _resident("VmHWM") - before)


def _resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def _added_on_gpu(xp, key, n, d, dtype):
    """Return the bytes that a call takes at its peak: PyTorch counts them; CuPy gets an own pool, which keeps all."""
    call = _calls(xp, n, d, dtype)[key]
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
    scores = _fast.PANELS[module.__name__][1]

    def powers(todo):
        exponents = module.zeros(scores, dtype=dtype)
        found = module.empty_like(exponents)
        for _ in todo:
            _fast._exp2(exponents, found)

    def best(call):
        _repeat(call, wait, seconds)
        end, times = time.perf_counter() + seconds, []
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            call()
            wait()
            times.append(time.perf_counter() - start)
        return min(times)

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
