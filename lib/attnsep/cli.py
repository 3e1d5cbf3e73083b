"""The command line: `attnsep claims` lists the ledger, `verify` runs it, `fires` and `sizes` compute the theorem.

`bench` times both attentions, `learn` trains small models with them, `report` judges an attention of your own.
"""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:  # python -m puts the current folder first, where a file
    sys.path.append(sys.path.pop(0))  # random.py of the user's would be taken for Python's own

import argparse
import json
import os
import re
import traceback
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnsep.arrays import BACKENDS, namespace
from attnsep.attention.kernels import PAIR, usages
from attnsep.checks import listed, require_choice, require_integer, text_of
from attnsep.claims import claims_table, status_line, verify
from attnsep.extensions import which_attentions
from attnsep.files import is_same, naming, require_writable, why, write
from attnsep.learn import table
from attnsep.learn.model import KERNELS
from attnsep.learn.tasks import TASKS, task
from attnsep.ledger.framework import alarm_sentence, claims, find, kept
from attnsep.ledger.ratchet import problems, read_ratchet
from attnsep.ledger.record import differences, read_record
from attnsep.paper import tokens
from attnsep.paper.gains import has_gain
from attnsep.paper.network import signs
from attnsep.paper.tokens import Law, TokenData
from attnsep.probability.sign_sums import clopper_pearson
from attnsep.reportcard import card

MOST_SIGNS = 10**8
ALARM = 1e-6
DASK_HELP = (
    "let the workers of this Dask scheduler train the grid; it has 5 seconds to answer and 30 for its first worker"
)
LONGEST = 300  # characters of a word that an error shows; few paths are longer


def main(arguments=None):
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after `attnsep`; left out, those of the process.

    Returns
    -------
    int
        Exit status: 0, 1 if a claim is not as expected (or differs from the record), 2 for bad usage.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser(words)
    if hasattr(sys.stdout, "reconfigure"):  # a terminal that lacks ⊗ should show an escape, not a traceback
        sys.stdout.reconfigure(errors="backslashreplace")
    run = {
        "claims": _claims,
        "verify": _verify,
        "fires": _fires,
        "sizes": _sizes,
        "bench": _bench,
        "learn": _learn,
        "report": _report,
    }
    try:
        options = parser.parse_args(words)
        return run[options.command](options)
    except BrokenPipeError:  # the reader of a pipe went away
        sys.stdout = None
        return 1
    except _OutputError as error:  # a full disk, say
        _complain(words, f"the output cannot be written ({why(error.__cause__)})")
        sys.stdout = None
        return 2
    except (ValueError, TypeError, ArithmeticError, ImportError, OSError, RuntimeError) as error:
        _complain(words, str(error))
        return 2
    except MemoryError as error:
        _complain(words, f"memory ran out ({error})")
        return 2
    except KeyboardInterrupt:
        _complain(words, "interrupted")
        return 130
    except Exception:
        traceback.print_exc()
        _complain(words, "this should not happen; please open an issue with the lines above")
        return 2


def _parser(words):
    """Return the parser of the command line; `words` are what its errors may shorten."""
    parser = _Parser(
        words,
        prog="attnsep",
        description="Run the checks of the book Softmax versus linear attention, and compute with its formulas.",
        epilog="attnsep fires --help says what the command fires takes, and so for the others.",
    )
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="command", parser_class=partial(_Parser, words)
    )
    list_parser = commands.add_parser("claims", help="list all claims with the verdicts of the last recorded run")
    list_parser.add_argument("--json", action="store_true", help="print a JSON list")
    run_parser = commands.add_parser(
        "verify", help="run the checks of claims, and each again with a fault put in on purpose"
    )
    run_parser.add_argument(
        "ids", nargs="*", metavar="id", help="claims to run, as `attnsep claims` lists them; all of them if left out"
    )
    run_parser.add_argument("--backend", choices=BACKENDS, help="array library (default: ATTNSEP_BACKEND, else auto)")
    run_parser.add_argument("--jobs", type=int, default=1, help="processes to use (default: 1)")
    run_parser.add_argument("--json", action="store_true", help="print a JSON list")
    compared = run_parser.add_mutually_exclusive_group()
    compared.add_argument(
        "--compare",
        action="store_true",
        help="also fail if the run differs from the record, or if a check became weaker without a reason",
    )
    compared.add_argument(
        "--seeds", type=int, default=0, metavar="K", help="use other random draws than the book does, the K-th of them"
    )
    _add_theorem(commands)
    _add_bench(commands)
    _add_learn(commands)
    _add_report(commands)
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser whose errors show no more than the ends of a long word."""

    def __init__(self, words, **options):
        super().__init__(**options)
        self._words = words

    def print_help(self, file=None):
        """Print the help, on standard output as everything else is."""
        _show(self.format_help().rstrip())

    def error(self, message):
        """Print usage and message, and end the process with status 2."""
        super().error(_shortened(message, self._words))


def _shortened(message, words):
    """Return a message as one line, with no more than the ends of what is long and stands in the command line."""
    for word in words:
        for part in (word, word.partition("=")[2]):
            if len(part) > LONGEST:
                message = message.replace(repr(part), text_of(part)).replace(part, text_of(part))
    message = re.sub(r"\s*\n\s*", " ", message.strip())
    return re.sub(rf"\S{{{LONGEST},}}", lambda found: text_of(found[0]), message)


def _complain(words, message):
    _say(_shortened(message, words))


def _say(sentence):
    """Print a sentence on standard error, if that is there and takes it."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"attnsep: {sentence}", file=sys.stderr, flush=True)


class _OutputError(Exception):
    """Standard output cannot be written to; the cause says why."""


def _show(text):
    """Print a text, and at once, so that a reader that went away or a full disk is noticed here."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _OutputError from error


def _show_json(value, **form):
    """Print a value as JSON in ASCII, whatever encoding standard output has."""
    text, buffer = json.dumps(value, **form), getattr(sys.stdout, "buffer", None)
    if buffer is None:
        _show(text)
        return
    try:
        sys.stdout.flush()
        buffer.write(text.encode("ascii") + b"\n")
        buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _OutputError from error


def _add_theorem(commands):
    """Add the parsers of `fires` and `sizes`; numbers stay text, so that 0.7 means the decimal and not its double."""
    fires = commands.add_parser(
        "fires",
        help="how often the network fires on a prompt with one marked token",
        description="How often the network fires on a prompt with one marked token. The probability is exact where the "
        "weights of a row take few values; for performer and window it is the frequency among random networks, with "
        f"an interval. Kernels: {', '.join(usages())}.",
    )
    fires.add_argument("--n", type=int, required=True, help="number of tokens, a multiple of d - 2")
    fires.add_argument("--d", type=int, required=True, help="width of a token: the mark, d - 2 classes, a constant")
    fires.add_argument("--m", type=int, required=True, help="number of columns of random signs")
    fires.add_argument("--a", required=True, help="strength of the mark; the book has 0.05 on D_0 and 0.7 on D_1")
    fires.add_argument("--kernel", default="softmax", help="softmax (default), linear, polynomial:8, topk:16, …")
    fires.add_argument("--seed", type=int, default=0, help="seed of the network that is drawn, or of all (default: 0)")
    fires.add_argument("--draws", type=int, default=1000, help="networks drawn where no law is known (default: 1000)")
    words = "the smallest sizes at which softmax tells D_0 and D_1 apart and linear attention does not"
    sizes = commands.add_parser("sizes", help=words, description=f"Find {words}: proved by the bound, and exactly.")
    sizes.add_argument("--delta", required=True, help="what none of the four errors may exceed")
    for name, strength in (("a0", "weak"), ("a1", "strong")):
        sizes.add_argument(f"--{name}", required=True, help=f"strength of the {strength} mark, on D_{name[1]}")
    sizes.add_argument("--t", type=int, default=1, help="tokens in each class (default: 1)")
    sizes.add_argument("--d-max", type=int, default=5000, help="largest width to try (default: 5000)")
    for parser in (fires, sizes):
        parser.add_argument("--c", required=True, help="constant entry of every token, between 0 and 1")
        parser.add_argument("--gap", default="0.1", help="the threshold is (c + gap)√log n (default: 0.1)")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_bench(commands):
    parser = commands.add_parser(
        "bench", help="time softmax and linear attention, and PyTorch's where it is installed; takes minutes"
    )
    parser.add_argument("--n", type=int, nargs="+", help="numbers of tokens (default: 16, 32, …, 131072)")
    parser.add_argument("--d", type=int, nargs="+", help="widths (default: 34 66 130)")
    parser.add_argument("--dtype", nargs="+", default=["float64"], help="float64, float32 or both (default: float64)")
    parser.add_argument("--seconds", type=float, help="how long to time each call of a pair of sizes (default: 0.25)")
    parser.add_argument("--out", metavar="FILE", help="store what has settled there")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _bench(options):
    from attnsep.bench import cost, measure

    if forced := [name for name in measure.BLAS_SETTINGS if name in os.environ]:
        are, them = ("is", "it") if len(forced) == 1 else ("are", "them")
        _say(f"{' and '.join(forced)} {are} set, which changes how fast NumPy is; for a fair time unset {them}")
    if (busy := measure.load() or 0) > measure.MOST_LOAD:
        _say(f"others keep {busy:.0%} of the cores busy, so that cells may not settle; better wait until they are done")
    given = {name: getattr(options, name) for name in ("n", "d", "seconds") if getattr(options, name) is not None}
    if options.out is not None:
        require_writable("--out", options.out)  # before minutes of work
    result = measure.bench(**given, dtype=options.dtype, progress=not options.json)
    try:
        if options.out is not None:
            cost.write_result(options.out, result)
    finally:  # what took minutes is shown, even where the disk is full by now
        _show_json(result) if options.json else _show(cost.table(result))
        if options.out is not None and (doubtful := sum(not row.get("settled", True) for row in result["rows"])):
            cells, are, they = ("cell", "is", "it is") if doubtful == 1 else ("cells", "are", "they are")
            _say(f"{doubtful} {cells} did not settle and {are} not stored; {they} marked with ?")
    return 0


# What `learn` takes where nothing is given.  The parser itself has None, so that what a grid has no use for is seen.
OF_LEARN = {"kernel": "softmax", "seed": 0, "jobs": 1}


def _add_learn(commands):
    parser = commands.add_parser(
        "learn",
        help="train a small model, or a whole grid of them; needs the extra learn",
        description="Train one small model and print its row, or all models that a grid lists. "
        f"Tasks: {', '.join(TASKS)}. Kernels: {listed(KERNELS)}.",
    )
    parser.add_argument("task", nargs="?", help="the task to learn")
    parser.add_argument("--kernel", help=f"which attention (default: {OF_LEARN['kernel']})")
    parser.add_argument("--seed", type=int, help=f"seed of parameters, data and tests (default: {OF_LEARN['seed']})")
    parser.add_argument("--set", nargs="+", metavar="NAME=VALUE", help="change settings of the task, such as pairs=40")
    parser.add_argument(
        "--checkpoint", metavar="FILE", help="store the state there, and go on from it after an interruption"
    )
    parser.add_argument(
        "--grid", metavar="FILE", help="train all that this JSON file lists, except the rows that --out has"
    )
    parser.add_argument("--jobs", type=int, help=f"processes for a grid (default: {OF_LEARN['jobs']})")
    parser.add_argument("--dask", metavar="ADDRESS", help=DASK_HELP)
    parser.add_argument("--out", metavar="FILE", help="add the rows to this table, which several runs may share")
    parser.add_argument("--json", action="store_true", help="print each row as JSON, one a line")


def _learn(options):
    from attnsep.learn.grid import read_grid, run_grid
    from attnsep.learn.train import train

    if (options.task is None) == (options.grid is None):
        raise ValueError("learn: needs a task or --grid FILE, and not both; `attnsep learn --help` lists the tasks")
    if options.grid is not None and options.checkpoint is not None:
        raise ValueError(
            f"--checkpoint {options.checkpoint}: works with one task; a grid goes on from the rows in --out"
        )
    if options.grid is not None:
        _refuse_given(options, ("kernel", "seed", "set"), "works with one task; a grid lists its own")
    else:
        _refuse_given(options, ("dask", "jobs"), "works with --grid; one task needs no workers")
    if options.checkpoint is not None:
        require_writable("--checkpoint", options.checkpoint, kept=True)  # before minutes of work
    given = OF_LEARN | {name: getattr(options, name) for name in OF_LEARN if getattr(options, name) is not None}
    done = []
    if options.out is not None:
        require_writable("--out", options.out)
        if options.checkpoint is not None and is_same(options.checkpoint, options.out):
            raise ValueError(f"--checkpoint, --out = {text_of(options.out)}: must be two files")
        done = table.read_rows(options.out) if Path(options.out).is_file() else []
    progress = not options.json
    if options.grid is None:
        chosen = task(options.task, dict(map(_setting, options.set or [])))
        rows = [train(chosen, given["kernel"], given["seed"], checkpoint=options.checkpoint, progress=progress)]
    else:
        rows = run_grid(read_grid(options.grid), done=done, jobs=given["jobs"], dask=options.dask, progress=progress)
    for row in rows:
        try:
            if options.out is not None:
                table.add_row(options.out, row)
        finally:  # what took minutes is shown, even where the disk is full by now
            _show_json(row) if options.json else _show(_row_line(row))
    return 0


def _refuse_given(options, names, why):
    """Raise where one of the options was given that another one leaves without a meaning."""
    for name in names:
        if (value := getattr(options, name)) is not None:
            raise ValueError(f"--{name} {' '.join(value) if isinstance(value, list) else value}: {why}")


def _add_report(commands):
    parser = commands.add_parser(
        "report",
        help="a report card for any attention: does it see one token among many, count, recall, keep its digits?",
        description="Judge an attention of your own, or one of the book's kernels, by the theorems of the book.",
    )
    parser.add_argument("attention", help="module:name of a function of q, k and v, or a kernel such as softmax:0.5")
    parser.add_argument("--layout", choices=card.LAYOUTS, help="of its arrays (default: the one that fits)")
    parser.add_argument("--library", choices=card.LIBRARIES, help="of its arrays (default: the one that fits)")
    parser.add_argument("--dtype", choices=card.DTYPES, help="of its arrays (default: the most precise it takes)")
    parser.add_argument("--width", type=int, default=card.WIDTH, help=f"of q, k and v (default: {card.WIDTH})")
    parser.add_argument("--n", type=int, default=card.MOST, help=f"most tokens to look at (default: {card.MOST})")
    parser.add_argument("--lines", help=f"which lines, with commas between them (default: {','.join(card.LINES)})")
    parser.add_argument("--require", default="", metavar="LINES", help="lines without whose yes the exit status is 1")
    parser.add_argument(
        "--seconds", type=float, default=card.SECONDS, help=f"for all of it (default: {card.SECONDS:g})"
    )
    parser.add_argument("--seed", type=int, default=0, help="of all draws (default: 0)")
    parser.add_argument("--html", metavar="FILE", help="write the card there, as one page with pictures")
    parser.add_argument("--json", action="store_true", help="print an object")


def _report(options):
    required = [name for name in options.require.split(",") if name]
    for name in required:
        require_choice("--require", name, tuple(card.LINES))
    lines = tuple(card.LINES) if options.lines is None else options.lines.split(",")
    for name in required:
        if name not in lines:
            raise ValueError(f"--require {name}: must be one of --lines")
    if options.html is not None:
        require_writable("--html", options.html)  # before a minute of work
    names = ("layout", "library", "dtype", "width", "n", "seconds", "seed")
    settings = {name: getattr(options, name) for name in names}
    with redirect_stdout(sys.stderr):  # what the attention prints is none of the card
        attention = card.named(options.attention)
        found = card.report(attention, name=options.attention, lines=lines, progress=not options.json, **settings)
    try:
        if options.html is not None:
            with naming("--html", options.html):
                write(options.html, found.html())
    finally:  # what took a minute is shown, even where the disk is full by now
        _show_json(found.as_dict()) if options.json else _show(found)
    missed = card.failed(found, required)
    if missed:
        _say(f"--require: {', '.join(missed)} {'are' if len(missed) > 1 else 'is'} not yes")
    return int(bool(missed))


def _setting(word):
    name, equals, value = word.partition("=")
    if not equals:
        raise ValueError(f"--set {word}: must be NAME=VALUE, such as pairs=40")
    return name, value


def _row_line(row):
    result = ", ".join(f"{name} {value}" for name, value in row["result"].items() if name != "diverged")
    failed = " (a loss was not finite)" if row["result"]["diverged"] else ""
    return f"{table.command(row)}\n  {row['steps']} steps, {row['seconds']} s: {result}{failed}"


def _fires(options):
    row = _fires_row(options)
    if options.json:
        _show_json(row)
        return 0
    verdict = {True: "fires", False: "is silent", None: f"not drawn: more than {MOST_SIGNS} signs"}[row["fires"]]
    if row["method"] == "exact":
        _show(f"P[F fires] = {row['probability']:.12g} (exact)")
        _show(f"proved: {row['side']} {row['bound']:.6g}")
    else:
        low, high = row["interval"]
        _show(f"P[F fires] ≈ {row['probability']:.4g} (sampled: the frequency in {row['draws']} random networks)")
        _show(f"between {low:.4g} and {high:.4g}, with a confidence of 1 − {ALARM:g}")
    _show(f"one instance (seed {row['seed']}): {verdict}")
    return 0


def _fires_row(options):
    data = TokenData(n=options.n, d=options.d, a=options.a, c=options.c, gap=options.gap)
    require_integer("seed", options.seed, least=0)
    require_integer("draws", options.draws, least=1)  # though an exact law needs none
    sampled = not has_gain(options.kernel)
    found = _sampled(options, data) if sampled else _exact(options, Law(data, options.kernel))
    return {
        "kernel": options.kernel,
        "n": data.n,
        "d": data.d,
        "m": options.m,
        **{name: float(getattr(data, name)) for name in ("a", "c", "gap")},
        "probability": found.probability,
        "bound": found.bound,
        "fires": found.fires,
        "seed": options.seed,
        "side": found.side,
        "method": "sampled" if sampled else "exact",
        "interval": found.interval,
        "draws": found.draws,
    }


class _Found(NamedTuple):
    probability: float
    bound: float | None
    side: str | None
    fires: bool | None
    interval: list | None = None
    draws: int | None = None


def _exact(options, law):
    low, high = law.fires_bounds(options.m, by="theorem" if options.kernel in PAIR else "mark")
    side = "at least" if low > 0 else "at most"
    return _Found(law.fires(options.m), low or high, side, _instance(options, law))


def _sampled(options, data):
    draws = options.draws
    one, hits = (
        which_attentions.fired_networks(
            np.random.default_rng(options.seed), data, options.m, options.kernel, draws=number
        )
        for number in (1, draws)
    )
    return _Found(hits / draws, None, None, one == 1, list(clopper_pearson(hits, draws, ALARM)), draws)


def _instance(options, law):
    """Return the verdict on the signs that the seed draws, or None where they would fill the memory."""
    d = law.data.d
    if d * options.m > MOST_SIGNS:
        return None
    return law.fires_on(signs(np.random.default_rng(options.seed), d, options.m, np))


def _sizes(options):
    parameters = (options.delta, options.a0, options.a1, options.c, options.t, options.gap)
    found = {by: tokens.sizes(*parameters, by=by, d_max=options.d_max) for by in ("bound", "exact")}
    rows = {by: {"t": options.t} | dict(zip(("n", "d", "m"), size, strict=True)) for by, size in found.items()}
    if options.json:
        _show_json({"t": options.t} | rows)
        return 0
    for by, row in rows.items():
        _show(f"{by}: " + ", ".join(f"{name} = {value}" for name, value in row.items()))
    return 0


def _claims(options):
    if options.json:
        record = read_record()
        _show_json([_entry(entry, record) for entry in claims()], indent=1)
        return 0
    _show(f"{claims_table()}\n\n{status_line()}")
    return 0


def _entry(entry, record):
    fields = ("id", "mark", "source", "level", "expect", "chapter", "statement", "assumes", "uses", "control")
    verdict = record.get(entry.id, {}).get("verdict", "not run")
    return {name: getattr(entry, name) for name in fields} | {"proved": entry.is_proved, "verdict": verdict}


def _verify(options):
    entries = [find(id) for id in dict.fromkeys(options.ids)] or claims()
    xp = namespace(options.backend)
    found = {entry.id: kept(entry, xp) for entry in entries} if options.compare else {}
    missing = [entry.id for entry in entries if not found.get(entry.id)]
    run = verify(missing, xp=xp, progress=not options.json, jobs=options.jobs, seeds=options.seeds)
    found |= {item.claim.id: item for item in run}
    evidence = [found[entry.id] for entry in entries]
    if options.json:
        _show_json([item.to_json() for item in evidence], indent=1)
    else:
        for item in evidence:
            _show(f"{'ok  ' if item.as_expected else 'FAIL'} {item.claim.id}: {item.line}")
    differing = _compared(options.ids, evidence) if options.compare else []
    for sentence in differing:
        _say(f"{sentence}; run `make notebooks` if this is meant")
    failed = sum(not item.as_expected for item in evidence)
    if not options.json:
        _show(f"{len(evidence) - failed} passed, {failed} failed. {alarm_sentence(item.alarm for item in evidence)}")
    return int(failed > 0 or bool(differing))


def _compared(ids, evidence):
    """Return where a run, the record and the ratchet disagree, for these claims or for all."""
    record, lines = read_record(), read_ratchet()
    if ids:
        record, lines = {id: record[id] for id in ids if id in record}, [line for line in lines if line["id"] in ids]
    return differences(evidence, record) + problems(lines, record)


if __name__ == "__main__":
    sys.exit(main())
