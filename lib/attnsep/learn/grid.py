"""Many runs: a grid of tasks, kernels, seeds and settings, on one machine or on a Dask cluster."""

import logging
from concurrent.futures import CancelledError, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import product
from threading import Thread

from attnsep.checks import require_integer, require_positive, text_of
from attnsep.files import from_json, read, why
from attnsep.learn.model import require_learn_kernel
from attnsep.learn.table import RUN, run_of
from attnsep.learn.tasks import MISSING, task
from attnsep.learn.train import train
from attnsep.processes import ENDED, FreshProcesses

ANSWERS_WITHIN, WORKER_WITHIN = 5, 30  # seconds that a scheduler has to answer, and to have its first worker


def read_grid(path):
    """Return the runs of a grid.

    Parameters
    ----------
    path : str or path
        A JSON file in UTF-8: a list of objects with ``task``, ``kernel``, ``seed`` and ``settings``, where a list of
        values stands for each of them; no list is empty, and no object has one key twice, or other keys but
        ``seconds``, which says what one run takes on one core (see `planned_seconds`).

    Returns
    -------
    list of dict
        With ``task``, ``kernel``, ``seed`` and all ``settings``, no run twice.

    Raises
    ------
    ValueError
        If there is no such file, or it is no grid.
    """
    return list({run_of(run): run for runs, _ in _parts(path) for run in runs}.values())


def planned_seconds(path):
    """Return what the runs of a grid take together, as far as its entries say it.

    Parameters
    ----------
    path : str or path
        As in `read_grid`.

    Returns
    -------
    float
        Seconds on one core: over all entries, ``seconds`` times the number of runs.

    Raises
    ------
    ValueError
        As in `read_grid`, or if an entry does not say it.

    Examples
    --------
    >>> from attnsep.learn.table import grid_path
    >>> planned_seconds(grid_path()) > 0
    True
    """
    found = 0.0
    for number, (runs, seconds) in enumerate(_parts(path), 1):
        if seconds is None:
            raise ValueError(f"path = {text_of(path)}: entry {number} does not say what a run takes, in seconds")
        found += len(runs) * seconds
    return found


def _parts(path):
    """Return the runs of each entry of a grid, and what it says that one takes."""
    try:
        parts = from_json(read(path))
        if not isinstance(parts, list) or not parts:
            raise ValueError(f"grid = {text_of(parts)}: must be a list of at least one object")
        return [_part(f"entry {number}", part) for number, part in enumerate(parts, 1)]
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"path = {text_of(path)}: is no grid ({why(error)})") from None


def _part(place, part):
    runs = list(_runs(place, part))
    seconds = part.get("seconds")
    return runs, seconds if seconds is None else require_positive("seconds", seconds)


def _runs(place, part):
    if not isinstance(part, dict):
        raise TypeError(f"{place} = {text_of(part)}: must be an object with the keys {', '.join(RUN)}")
    for key in RUN:
        if key not in part:
            raise ValueError(f"{place}, key {key!r}: is missing; the keys must be {', '.join(RUN)}")
    for key in part:
        if key not in (*RUN, "seconds"):
            raise ValueError(f"{place}, key {text_of(key)}: must be one of {', '.join(RUN)} or seconds")
    settings = part["settings"]
    if not isinstance(settings, dict):
        raise TypeError(f"{place}, settings = {text_of(settings)}: must be an object")
    keys = {key: part[key] for key in RUN if key != "settings"}
    values = [_values(f"{place}, {key}", value) for key, value in (*keys.items(), *settings.items())]
    for name, kernel, seed, *chosen in product(*values):
        yield _run(name, kernel, seed, dict(zip(settings, chosen, strict=True)))


def _run(name, kernel, seed, settings):
    require_integer("seed", seed, least=0)
    return {
        "task": name,
        "kernel": require_learn_kernel(kernel),
        "seed": seed,
        "settings": task(name, settings).settings,
    }


def _values(name, value):
    if value == []:
        raise ValueError(f"{name} = []: must have at least one value")
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
        Processes on this machine, at least 1.  A script asks for more than one under ``if __name__ == "__main__"``.
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
        If jobs is no integer of at least 1, or dask is no text or an empty one.
    ImportError
        If the extra `learn` is missing, or `cluster` where a scheduler is named.
    RuntimeError
        If JAX finds nothing to compute on, a process is killed, no scheduler answers within 5 seconds, it has no worker
        for 30, or it is lost.

    Notes
    -----
    A run that fails does not stop the others: all rows that can be made come first, then the first error.
    """
    jobs = require_integer("jobs", jobs, least=1, most=1024)
    known = {run_of(row) for row in done}
    runs = [run for run in runs if run_of(run) not in known]
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise ImportError(f"a grid needs {error.name}, which {MISSING}") from None
    if dask is not None:
        results = _by_cluster(runs, dask)
    elif min(jobs, len(runs)) > 1:
        results = _by_processes(runs, jobs)
    else:
        results = (partial(_trained, run) for run in runs)
    failed = None
    for result in tqdm(results, total=len(runs), unit="run", disable=None if progress else True, leave=False):
        try:
            row = result()
        except Exception as error:
            failed = failed or error
        else:
            yield row
    if failed:
        raise failed


def _trained(run):
    return train(task(run["task"], run["settings"]), run["kernel"], run["seed"])


def _by_processes(runs, jobs):
    """Yield functions that return a row or raise what went wrong, each as soon as one or the other is known."""
    with FreshProcesses(min(jobs, len(runs))) as pool:
        for future in as_completed([pool.submit(_trained, run) for run in runs]):
            yield partial(_from_process, future, jobs)


def _from_process(future, jobs):
    try:
        return future.result()
    except BrokenProcessPool:
        raise RuntimeError(f"jobs = {jobs}: {ENDED}; rows that came before are there") from None


# A Dask cluster


def _by_cluster(runs, address):
    """Yield the same as `_by_processes`, from the workers of a scheduler."""
    try:
        from distributed import wait
    except ImportError:
        hint = 'pip install ".[learn,cluster]" in the folder of the book'
        raise ImportError(f"a Dask cluster needs distributed: {hint}") from None
    with _client(address) as client:
        waiting = client.map(_trained, runs, pure=False)
        while waiting:
            _require_worker(client, address)
            try:
                done, waiting = wait(waiting, timeout=ANSWERS_WITHIN, return_when="FIRST_COMPLETED")
            except TimeoutError:  # no run has ended since
                continue
            except (CancelledError, OSError) as error:
                raise _lost(address, error) from None
            for future in done:
                yield partial(_from_worker, future, address)


@contextmanager
def _client(address):
    """Connect to a scheduler; Dask's own account of a lost connection, with its traces, is left out."""
    from distributed import Client

    if not isinstance(address, str) or not address.strip():  # without one Dask would start a cluster of its own
        raise ValueError(f"dask = {text_of(address)}: must be a scheduler's address, such as --dask tcp://host:8786")
    logger, nothing = logging.getLogger("distributed.client"), _no_record
    logger.addFilter(nothing)
    try:
        client = _connected(address)
        if not isinstance(client, Client):
            raise RuntimeError(
                f"dask = {text_of(address)}: no scheduler answers there ({why(client)}); start one with "
                "`dask scheduler` and give its address, such as --dask tcp://host:8786"
            )
        with client:
            yield client
    finally:
        logger.removeFilter(nothing)


def _connected(address):
    """Return a client, or the error that it gave; Dask itself waits for ever for one that listens and says nothing."""
    from distributed import Client

    found = []

    class Attempt(Client):
        def __del__(self):
            """Do nothing: Dask's closes it wherever garbage is collected, and inside a start it waits for itself."""

    def connect():
        try:
            found.append(Attempt(address, timeout=ANSWERS_WITHIN))
        except Exception as error:  # Dask has many kinds of error for an address at which there is nothing
            found.append(error)

    thread = Thread(target=connect, daemon=True)
    thread.start()
    thread.join(2 * ANSWERS_WITHIN)
    return found[0] if found else TimeoutError("what listens there says nothing")


def _no_record(record):
    return False


def _require_worker(client, address):
    """Wait for the first worker, but not for ever; raise an error too where the scheduler itself no longer answers."""
    try:
        known = client.sync(client.scheduler.identity, callback_timeout=ANSWERS_WITHIN)
    except (CancelledError, OSError) as error:
        raise _lost(address, error) from None
    if known["workers"]:
        return
    try:
        client.wait_for_workers(1, timeout=WORKER_WITHIN)
    except OSError:  # Dask's TimeoutError is one
        raise RuntimeError(
            f"dask = {text_of(address)}: the scheduler has no worker, not even after {WORKER_WITHIN} seconds; start "
            f"some with `dask worker {address}`, then name it again with --dask"
        ) from None


def _from_worker(future, address):
    from distributed import KilledWorker

    try:
        return future.result()
    except (CancelledError, OSError, KilledWorker) as error:
        raise _lost(address, error) from None
    except Exception as error:
        raise RuntimeError(
            f"dask = {text_of(address)}: a worker could not train a run ({why(error)}); --dask needs workers that have "
            "this version of attnsep, with the extra learn"
        ) from None


def _lost(address, error):
    return RuntimeError(
        f"dask = {text_of(address)}: the scheduler or a worker was lost ({type(error).__name__}); rows that came "
        "before are there, and the same command with --dask makes the others"
    )
