"""Training with JAX and Optax: one task, one kernel, one seed make one row; a killed run goes on where it was."""

import io
import json
import math
import os
import platform
import sys
import time
import zipfile
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from attnsep.bench.measure import cpu
from attnsep.checks import require_instance, require_integer, require_real, text_of
from attnsep.files import naming, require_writable, why, write
from attnsep.learn.model import concentration, normaliser_margin, noting, require_learn_kernel
from attnsep.learn.table import read_rows, run_of
from attnsep.learn.tasks import MISSING, Task, task

AT_ONCE = 2**22  # entries of the largest array of weights in an evaluation
ENOUGH, PATIENCE = 0.001, 11  # the loss at which training stops, and the misses
TAKEN = ("length", "margin")  # of the gradient, and of the row sums, in every step
# Variables of JAX, XLA and CUDA may change a number, so a row records those that are set; but for these, which training
# overrules, whose choice stands in the row as its device, or which only say where to keep and what to print.
FAMILIES = ("JAX_", "XLA_", "LIBTPU_", "NVIDIA_TF32_", "NPROC")
WITHOUT_EFFECT = {"JAX_ENABLE_X64", "JAX_DEFAULT_DTYPE_BITS", "JAX_DEFAULT_MATMUL_PRECISION", "JAX_DISABLE_JIT"}
WITHOUT_EFFECT |= {"JAX_NUMPY_DTYPE_PROMOTION", "JAX_NUMPY_RANK_PROMOTION", "JAX_DEBUG_NANS", "JAX_DEBUG_INFS"}
WITHOUT_EFFECT |= {"JAX_TRANSFER_GUARD", "JAX_PLATFORMS", "JAX_PLATFORM_NAME", "JAX_DEFAULT_DEVICE"}
WITHOUT_EFFECT |= {"JAX_COMPILATION_CACHE_DIR", "JAX_LOG_COMPILES", "JAX_LOGGING_LEVEL", "JAX_TRACEBACK_FILTERING"}
WITHOUT_EFFECT |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"}


def train(chosen, kernel, seed, *, checkpoint=None, progress=False):
    """Train one model and return its row.

    Parameters
    ----------
    chosen : Task
        As from ``tasks.task``.
    kernel : str
        One of ``model.KERNELS``.
    seed : int
        Decides the initial parameters, the training data and the tests, each by a generator of its own.
    checkpoint : str or path, optional
        File for the state of the training, written at every evaluation.  If it exists, training goes on from there.
    progress : bool
        Show a bar on standard error if that is a terminal.

    Returns
    -------
    dict
        Ready for json.dump: ``task``, ``kernel``, ``seed``, ``settings``, ``steps`` (done), ``result``, ``recorded``,
        ``versions``, ``machine`` and ``seconds``; only ``seconds`` varies between runs on one machine with the same
        ``flags``, the settings of JAX and XLA that training does not overrule; other machines and other numbers of
        threads round differently.  ``result`` has for every test the mean score at the end, for ``retrieval`` also the
        best evaluation loss (``best``) and its step (``at``); ``diverged`` is True where a loss was not finite.
        ``recorded`` is what may explain the result, as `record` says.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules, or the checkpoint has other settings, versions or another machine.
    ImportError
        If the extra `learn` is missing.
    RuntimeError
        If JAX does not load or finds nothing to compute on, because of a variable such as ``JAX_PLATFORMS``.

    Notes
    -----
    Adam with a constant rate; gradients longer than ``clip`` are shortened to it, and a step whose gradient is not
    finite is left out.  Extension.
    """
    require_instance("chosen", chosen, Task)
    kernel = require_learn_kernel(kernel)
    run = {"task": chosen.name, "kernel": kernel, "seed": require_integer("seed", seed, least=0, most=2**32 - 1)}
    run["settings"] = chosen.settings
    if checkpoint is not None:
        require_writable("checkpoint", checkpoint, kept=True)
    jax, optax = _libraries()
    versions = {"Python": platform.python_version()} | {
        name: version(package) for name, package in (("NumPy", "numpy"), ("JAX", "jax"), ("Optax", "optax"))
    }
    with _overruled(jax):
        place = {"cpu": cpu(), "cores": _cores(), "system": platform.system()}
        place |= {"device": _device(jax).device_kind, "x64": bool(jax.config.jax_enable_x64), "flags": _flags()}
        run |= {"versions": versions, "machine": place}
        return _row(jax, optax, chosen, run, checkpoint, progress)


def _row(jax, optax, chosen, run, checkpoint, progress):
    """Train what a run says and return it with the result."""
    kernel, seed = run["kernel"], run["seed"]
    initial, data, tests = (np.random.default_rng([seed, k]) for k in range(3))
    draw, tests = chosen.source(tests)
    p = jax.tree.map(jax.numpy.asarray, chosen.initial(initial))
    optimiser = _optimiser(optax, chosen)
    state = {"p": p, "optimiser": optimiser.init(p)}
    log = {"step": 0, "best": math.inf, "at": 0, "strikes": 0, "diverged": False, "seconds": 0.0}
    taken = {name: np.zeros(0, np.float32) for name in TAKEN}
    if checkpoint is not None and Path(checkpoint).exists():
        state, log, taken, data.bit_generator.state = _read_checkpoint(jax, checkpoint, state, run)
    advance = jax.jit(partial(_advance, chosen, kernel, optimiser))
    evaluate = jax.jit(lambda p, inputs, targets: chosen.score(chosen.predict(p, inputs, kernel), targets))
    start = time.perf_counter() - log["seconds"]
    with _bar(chosen.steps, log["step"], progress) as move:
        while log["step"] < chosen.steps and not _is_over(chosen, log):
            batches = jax.tree.map(lambda *parts: np.stack(parts), *(draw(data) for _ in range(chosen.every)))
            state, steps = advance(state, batches)
            taken = {name: np.append(taken[name], np.asarray(steps[name], np.float32)) for name in TAKEN}
            log["step"] += chosen.every
            log["diverged"] = log["diverged"] or not np.all(np.isfinite(steps["loss"]))
            if chosen.stops:
                new = chosen.held_out(np.random.default_rng([seed, 3, log["step"]]))["all"]
                _judge(log, _mean_score(evaluate, state["p"], *new, chosen.judged))
            log["seconds"] = time.perf_counter() - start
            move(chosen.every)
            if checkpoint is not None:
                _write_checkpoint(jax, checkpoint, state, log, taken, data, run)
    result = {"diverged": log["diverged"]}
    if chosen.stops:
        result |= {"best": _finite(log["best"]), "at": log["at"]}
    result |= {name: _finite(_mean_score(evaluate, state["p"], *test)) for name, test in tests.items()}
    recorded = record(taken["length"], taken["margin"] if kernel == "linear" else None, chosen.clip)
    recorded["weights"] = {name: _look(jax, chosen, kernel, state["p"], *test) for name, test in tests.items()}
    seconds = round(time.perf_counter() - start, 1)
    return run | {"steps": log["step"], "result": result, "recorded": recorded, "seconds": seconds}


def record(lengths, margins=None, clip=0.0):
    """Sum up what the steps of a training have shown.

    Parameters
    ----------
    lengths : array, shape (steps,)
        Length of the gradient in every step, before it was shortened.
    margins : array, shape (steps,), optional
        ``model.normaliser_margin`` of the batch in every step, for linear attention, whose row sums can cancel.
    clip : float
        To what length gradients were shortened; 0 if they were not.

    Returns
    -------
    dict
        ``gradient``: ``median`` and ``largest`` finite length, the share of steps that were ``shortened``, and the
        number where it was ``not finite``.  With margins also ``normaliser``: the ``least`` one, and Spearman's ``rank
        correlation`` of lengths with margins, -1 where the gradient is the longer the smaller the margin is.  What no
        step has shown is None.

    Raises
    ------
    ValueError, TypeError
        If lengths and margins are not two rows of numbers of one length, or clip is negative.

    Examples
    --------
    >>> record([0.5, 8.0, 2.0], [0.9, 0.1, 0.6], clip=1)["gradient"]
    {'median': 2.0, 'largest': 8.0, 'shortened': 0.666667, 'not finite': 0}
    >>> record([0.5, 8.0, 2.0], [0.9, 0.1, 0.6])["normaliser"]
    {'least': 0.1, 'rank correlation': -1.0}
    """
    lengths, margins = (None if x is None else _numbers(n, x) for n, x in (("lengths", lengths), ("margins", margins)))
    if (clip := require_real("clip", clip)) < 0:
        raise ValueError(f"clip = {clip!r}: must be at least 0")
    there = np.isfinite(lengths)
    found = lengths[there]
    gradient = {"median": _finite(np.median(found)), "largest": _finite(np.max(found))} if len(found) else {}
    gradient = {"median": None, "largest": None} | gradient
    gradient["shortened"] = _finite(np.mean(found > clip)) if clip and len(found) else 0.0
    gradient["not finite"] = int(np.sum(~there))
    if margins is None:
        return {"gradient": gradient}
    if margins.shape != lengths.shape:
        raise ValueError(f"margins: has {len(margins)} numbers, lengths has {len(lengths)}")
    there &= np.isfinite(margins)
    varied = all(len(np.unique(x[there])) > 1 for x in (lengths, margins))
    ranks = [np.argsort(np.argsort(x[there], kind="stable")) for x in (lengths, margins)]
    least = _finite(np.min(margins[there])) if there.any() else None
    correlation = _finite(np.corrcoef(*ranks)[0, 1]) if varied else None
    return {"gradient": gradient, "normaliser": {"least": least, "rank correlation": correlation}}


def _numbers(name, values):
    try:
        values = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        values = None
    if values is None or values.ndim != 1:
        raise TypeError(f"{name}: must be numbers in one row")
    return values


def trained_or_stored(name, kernel, seed, settings=None):
    """Train a model that the book's table has; where nothing can train, say so on stderr and return the stored row.

    Parameters
    ----------
    name, settings
        As in ``tasks.task``.
    kernel, seed
        As in `train`.

    Returns
    -------
    dict
        A row, as from `train`.

    Raises
    ------
    ValueError, TypeError
        As in `train`, or if the table has no such row where it is needed.
    """
    chosen = task(name, settings)
    try:
        return train(chosen, kernel, seed)
    except (ImportError, RuntimeError) as error:
        print(f"attnsep: {error}. The stored row is shown instead.", file=sys.stderr)
    wanted = run_of({"task": name, "kernel": kernel, "seed": seed, "settings": chosen.settings})
    for row in read_rows():
        if run_of(row) == wanted:
            return row
    raise ValueError(f"name, kernel, seed, settings: the table has no row {wanted}")


def _libraries():
    try:
        import jax
        import optax
    except ImportError as error:
        raise ImportError(f"training needs {error.name}, which {MISSING}") from None
    except (ValueError, RuntimeError) as error:  # a setting that is none, or parts of JAX that do not fit together
        raise RuntimeError(f"JAX does not load here ({error}); {_variables()}") from None
    return jax, optax


def _cores():
    """Return the number of processors that this process may use, which XLA's threads depend on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _device(jax):
    """Return the device that JAX computes on."""
    try:
        jax.devices()  # says best what it lacks
        return next(iter(jax.numpy.zeros(()).devices()))
    except Exception as error:  # JAX has no one kind of error for a device that is not there
        raise RuntimeError(f"JAX finds nothing to compute on ({why(error)}); {_variables()}") from None


def _variables():
    """Return what a user may do about JAX's settings, with those that are set."""
    found = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("JAX_")]
    return f"unset or change its variables ({', '.join(found)})" if found else "install the extra learn again"


def _flags():
    """Return the settings that may change a number and that training does not overrule, as one text."""
    names = sorted({name for name in os.environ if name.startswith(FAMILIES)} - WITHOUT_EFFECT - {"XLA_FLAGS"})
    flags = [os.environ.get("XLA_FLAGS", "")] + [f"{name}={os.environ[name]}" for name in names]
    return " ".join(flags).strip()


@contextmanager
def _overruled(jax):
    """Compute as JAX does where nobody has set anything; what the caller and other threads have set stays theirs."""
    enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    with ExitStack() as stack:
        for context in (
            enable_x64(False),
            jax.default_matmul_precision(None),
            jax.disable_jit(False),
            jax.numpy_dtype_promotion("standard"),
            jax.numpy_rank_promotion("allow"),
            jax.debug_nans(False),
            jax.debug_infs(False),
            jax.transfer_guard("allow"),
        ):
            stack.enter_context(context)
        yield


def _advance(task, kernel, optimiser, state, batches):
    """Take one step of Adam for each batch; return the new state, and what `TAKEN` names of each step."""
    import jax

    def loss(p, batch):
        inputs, targets = batch
        with noting() as notes:
            value = task.loss(task.predict(p, inputs, kernel), targets)
        if kernel != "linear":  # of the others no row can cancel, or none is divided by its sum
            return value, 1.0
        return value, jax.numpy.min(jax.numpy.stack([normaliser_margin(u) for u in notes]))

    def step(state, batch):
        (value, margin), gradient = jax.value_and_grad(loss, has_aux=True)(state["p"], batch)
        updates, after = optimiser.update(gradient, state["optimiser"], state["p"])
        state = {"p": jax.tree.map(jax.numpy.add, state["p"], updates), "optimiser": after}
        length = jax.numpy.sqrt(sum(jax.numpy.sum(part**2) for part in jax.tree.leaves(gradient)))
        return state, {"loss": value, "length": length, "margin": margin}

    return jax.lax.scan(step, state, batches)


def _optimiser(optax, task):
    """Return Adam at one rate, on gradients shortened where they are long; what is not finite moves nothing."""
    clip = optax.clip_by_global_norm(task.clip) if task.clip else optax.identity()
    return optax.apply_if_finite(optax.chain(clip, optax.adam(task.rate)), max_consecutive_errors=task.steps + 1)


def _parts(inputs, targets):
    """Yield a test a few examples at a time, always equally many, so that one compilation is enough."""
    count = len(targets)
    most = max(1, min(count, AT_ONCE // max(array.shape[1] for array in inputs.values()) ** 2))
    some = next(size for size in range(most, 0, -1) if count % size == 0)
    for part in (slice(start, start + some) for start in range(0, count, some)):
        yield {name: x[part] for name, x in inputs.items()}, targets[part]


def _mean_score(evaluate, p, inputs, targets, mean=None):
    """Return the mean score over a test, computed a few examples at a time."""
    scores = np.concatenate([np.asarray(evaluate(p, *part)) for part in _parts(inputs, targets)])
    return mean(scores) if mean else float(np.mean(scores, dtype=np.float64))


def _look(jax, task, kernel, p, inputs, targets):
    """Return how concentrated the rows of weights are on a test, and for linear attention the least margin of a sum."""

    def looked(p, inputs):
        with noting() as notes:
            task.predict(p, inputs, kernel)
        entropy, largest = zip(*map(concentration, notes), strict=True)
        return [sum(entropy) / len(notes), sum(largest) / len(notes), *map(normaliser_margin, notes)]

    looked = jax.jit(looked)
    found = np.array([looked(p, inputs) for inputs, _ in _parts(inputs, targets)], np.float64)
    look = {"entropy": _finite(found[:, 0].mean()), "largest": _finite(found[:, 1].mean())}
    return look | {"margin": _finite(found[:, 2:].min())} if kernel == "linear" else look


def _judge(log, loss):
    """Note an evaluation loss; a NaN is no progress."""
    if loss < log["best"]:
        log |= {"best": loss, "at": log["step"], "strikes": 0}
    else:
        log["strikes"] += 1


def _is_over(task, log):
    return task.stops and (log["best"] <= ENOUGH or log["strikes"] >= PATIENCE)


def _finite(number):
    return float(f"{number:.6g}") if math.isfinite(number) else None


@contextmanager
def _bar(total, done, progress):
    """Give a function that moves a bar by some steps; without one tqdm, which takes a semaphore, is not even loaded."""
    if not progress:
        yield lambda steps: None
        return
    from tqdm import tqdm

    with tqdm(total=total, initial=done, unit="step", disable=None, leave=False) as bar:
        yield bar.update


# Checkpoints


def _write_checkpoint(jax, path, state, log, taken, data, run):
    leaves = {f"leaf{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(state))} | taken
    text = json.dumps({"run": run, "log": log, "data": data.bit_generator.state})
    file = io.BytesIO()
    np.savez(file, text=np.array(text), **leaves)
    with naming("checkpoint", path):
        write(path, file.getvalue())


def _read_checkpoint(jax, path, state, run):
    """Return state, log, what the steps have shown and the data's generator state, or say in a ValueError why not."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            text = json.loads(str(stored["text"]))
            earlier, log, data = (dict(text[name]) for name in ("run", "log", "data"))
            leaves = [jax.numpy.asarray(stored[f"leaf{k}"]) for k in range(len(jax.tree.leaves(state)))]
            taken = {name: stored[name] for name in TAKEN}
    except Exception as error:  # numpy, zipfile and json have their own words for a file that is none of theirs
        raise ValueError(
            f"checkpoint = {text_of(os.fspath(path))}: is no checkpoint: {_why_none(path, error)}"
        ) from None
    if differ := [name for name in run if json.loads(json.dumps(run[name])) != earlier.get(name)]:
        raise ValueError(f"checkpoint = {text_of(str(path))}: belongs to a run with another {', '.join(differ)}")
    return jax.tree.unflatten(jax.tree.structure(state), leaves), log, taken, data


def _why_none(path, error):
    if isinstance(error, OSError):
        return f"it cannot be read ({why(error)})"
    if not os.path.getsize(path):
        return "it is empty"
    if not zipfile.is_zipfile(path):
        return "it is no archive of numpy, or only a part of one"
    return "it is an archive of something else, or damaged"
