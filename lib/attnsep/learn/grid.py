"""Many runs: a grid of tasks, kernels, seeds and settings, on one machine or on a Dask cluster."""

import json
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from attnsep.arrays import text_of
from attnsep.data import require_integer, require_items
from attnsep.learn.model import require_learn_kernel
from attnsep.learn.table import run_of
from attnsep.learn.tasks import MISSING, task
from attnsep.learn.train import train


def read_grid(path):
    """Return the runs of a grid.

    Parameters
    ----------
    path : str or path
        A JSON file: a list of objects with ``task``, ``kernel``, ``seed`` and ``settings``, where a list of values
        stands for each of them.

    Returns
    -------
    list of dict
        With ``task``, ``kernel``, ``seed`` and all ``settings``, no run twice.

    Raises
    ------
    ValueError
        If there is no such file, or it is no grid.
    """
    try:
        parts = json.loads(Path(path).read_text(encoding="utf-8"))
        runs = [run for part in require_items("grid", parts) for run in _runs(**part)]
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"path = {text_of(path)}: is no grid ({type(error).__name__}: {error})") from None
    return list({run_of(run): run for run in runs}.values())


def _runs(task, kernel, seed, settings):
    for name, one, number, *values in product(*map(_values, (task, kernel, seed, *settings.values()))):
        yield _run(name, one, number, dict(zip(settings, values, strict=True)))


def _run(name, kernel, seed, settings):
    require_integer("seed", seed, least=0)
    return {
        "task": name,
        "kernel": require_learn_kernel(kernel),
        "seed": seed,
        "settings": task(name, settings).settings,
    }


def _values(value):
    return value if isinstance(value, list) else [value]


def run_grid(runs, *, done=(), jobs=1, dask=None, progress=False):
    """Train all runs that are not done yet.

    Parameters
    ----------
    runs : list of dict
        As from `read_grid`.
    done : sequence of dict
        Rows of runs that are left out.
    jobs : int
        Processes on this machine, at least 1.
    dask : str, optional
        Address of a Dask scheduler whose workers have this library; they then do the work, and `jobs` does not count.
    progress : bool
        Show a bar on standard error if that is a terminal.

    Yields
    ------
    dict
        A row, as soon as it is there.

    Raises
    ------
    ValueError, TypeError
        If jobs is no integer of at least 1.
    ImportError
        If the extra `learn` is missing, or `cluster` where a scheduler is named.
    """
    jobs = require_integer("jobs", jobs, least=1, most=1024)
    known = {run_of(row) for row in done}
    runs = [run for run in runs if run_of(run) not in known]
    try:
        import joblib
        from tqdm import tqdm
    except ImportError as error:
        raise ImportError(f"a grid needs {error.name}, which {MISSING}") from None
    with _backend(dask, jobs) as backend, joblib.parallel_config(**backend):
        parallel = joblib.Parallel(return_as="generator_unordered")
        rows = parallel(joblib.delayed(_trained)(run) for run in runs)
        yield from tqdm(rows, total=len(runs), unit="run", disable=None if progress else True, leave=False)


@contextmanager
def _backend(dask, jobs):
    if dask is None:
        yield {"backend": "loky", "n_jobs": jobs}
        return
    try:
        from distributed import Client
    except ImportError:
        hint = 'pip install ".[learn,cluster]" in the folder of the book'
        raise ImportError(f"a Dask cluster needs distributed: {hint}") from None
    with Client(dask) as client:
        yield {"backend": "dask", "client": client, "n_jobs": -1}


def _trained(run):
    return train(task(run["task"], run["settings"]), run["kernel"], run["seed"])
