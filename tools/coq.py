"""Run Coq on a folder of proofs: compile them, print statements and axioms, check them again with its second kernel."""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor, as_completed
from graphlib import TopologicalSorter
from typing import NamedTuple

MODEL = "Model"  # all definitions stand in this file
NEEDED = "Coq and its library Coquelicot (Debian: apt-get install --no-install-recommends coq libcoq-coquelicot)"
OPTIONS = ("-q", "-w", "none")  # no settings of the user's; warnings differ between versions
LONGEST = 1800  # seconds that one file may take, on a machine that is very busy; usually it is some
ASKED = "Asked"  # the file with our questions
NONE = "Closed under the global context"


class MissingCoq(Exception):
    """Coq or the library is not here."""


class Refused(Exception):
    """Coq does not accept a file; its message says why."""


class Theorem(NamedTuple):
    """A theorem as Coq sees it: its statement in Coq's notation, and the same without any notation."""

    shown: str
    explicit: str


def version():
    """Return the version of Coq that is here."""
    return _run("coqc", "--print-version").stdout.split()[0]


def library_version():
    """Return the version of Coquelicot as Debian names it, or "unknown"."""
    if shutil.which("dpkg-query") is None:
        return "unknown"
    asked = ("dpkg-query", "--show", "--showformat=${Version}", "libcoq-coquelicot")
    return subprocess.run(asked, capture_output=True, text=True).stdout or "unknown"


def dependencies(folder):
    """Return {module: modules of the folder that it needs}.

    Raises
    ------
    Refused
        If they need each other in a circle.
    """
    lines = _run("coqdep", *_names(folder), cwd=folder).stdout.splitlines()
    found = {}
    for made, _, needed in (line.partition(":") for line in lines):
        if made.split()[0].endswith(".vo"):
            found[made.split()[0][:-3]] = {name[:-3] for name in needed.split() if name.endswith(".vo")}
    return {module: needed & found.keys() for module, needed in found.items()}


def compiled(folder):
    """Compile all files of a folder, in as many processes as there are processors.

    Raises
    ------
    MissingCoq, Refused
        If Coq or the library is missing, or if Coq does not accept a file.
    """
    sorter = TopologicalSorter(dependencies(folder))
    sorter.prepare()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {}
        while sorter.is_active():
            running |= {pool.submit(compile_one, folder, module): module for module in sorter.get_ready()}
            done = next(as_completed(running))
            done.result()
            sorter.done(running.pop(done))


def compile_one(folder, module, longest=LONGEST):
    """Compile one file whose dependencies are compiled."""
    _run("coqc", *OPTIONS, f"{module}.v", cwd=folder, longest=longest)


def statements(folder, names):
    """Return {name: Theorem} for theorems of a compiled folder, each named as in ``Golden.golden_ratio_law``."""
    questions = ["From Coq Require Import Reals.", "From Coquelicot Require Import Coquelicot.", *_imports(folder)]
    questions += ["Open Scope R_scope.", "Set Printing Width 72.", "Set Printing Depth 10000."]
    questions += [f'Redirect "{place}.shown" Check @{name}.' for place, name in enumerate(names)]
    questions += ["Set Printing All.", "Set Printing Width 1000."]
    questions += [f'Redirect "{place}.explicit" Check @{name}.' for place, name in enumerate(names)]
    _ask(folder, questions)

    def answer(place, kind):
        return _statement((folder / f"{place}.{kind}.out").read_text(encoding="utf-8"))

    return {name: Theorem(answer(place, "shown"), answer(place, "explicit")) for place, name in enumerate(names)}


def _statement(text):
    """Return the statement in what Coq prints of a theorem, its lines as far to the left as they go.

    Examples
    --------
    >>> _statement("weights\\n     : forall n : nat,\\n       0 < n")
    'forall n : nat,\\n0 < n'
    """
    first, *rest = re.sub(r"\A\S+\s+: ", "", text).rstrip().splitlines()
    least = min((len(line) - len(line.lstrip()) for line in rest), default=0)
    return "\n".join([first, *(line[least:] for line in rest)])


def axioms(folder, names):
    """Return the axioms that the proofs of theorems of a compiled folder use together; each question takes long."""
    everything = f"Definition everything := ({', '.join(f'@{name}' for name in names)}, I)."
    return trusted(_ask(folder, [*_imports(folder), everything, "Print Assumptions everything."]))


def trusted(text):
    """Return the names of the axioms in what Coq prints of assumptions.

    Whatever else stands there, such as a check that was switched off, counts as one, so that nothing is overlooked.

    Examples
    --------
    >>> trusted("Axioms:\\nLogic.classic : forall P : Prop,\\n  P \\\\/ ~ P\\nfoo is assumed to be guarded.")
    ('Logic.classic', 'foo is assumed to be guarded.')
    """
    if text.strip() == NONE:
        return ()
    lines = [line for line in text.splitlines() if line.strip() and not line[0].isspace() and line != "Axioms:"]
    return tuple(sorted(re.sub(r"\A([\w.']+)( :.*)?\Z", r"\1", line) for line in lines))


def uses(folder, found, definitions):
    """Return the pairs (theorem, definition) in which a statement uses a definition; `found` as from `statements`.

    A bound variable may have the name of a definition; whether unfolding the definition changes anything tells.
    """
    questions = [
        f"Goal True. let T := type of (@{name}) in let U := eval cbv delta [{definition}] in T in "
        f'tryif constr_eq T U then idtac else idtac "uses" "{name}" "{definition}". Abort.'
        for name, theorem in found.items()
        for definition in definitions
        if re.search(rf"(?<![\w']){definition.partition('.')[2]}(?![\w'])", theorem.explicit)
    ]
    lines = map(str.split, _ask(folder, [*_imports(folder), *questions]).splitlines())
    return [(line[1], line[2]) for line in lines if line[:1] == ["uses"]]


def checked_again(folder):
    """Let coqchk check the compiled files and all that they need, without Coq's tactics; return what it sums up."""
    done = _run("coqchk", "-silent", "-o", *sorted(_modules(folder)), cwd=folder, longest=10 * LONGEST)
    return done.stdout + done.stderr  # which of the two, differs between versions


def _ask(folder, questions):
    (folder / f"{ASKED}.v").write_text("\n".join(questions) + "\n", encoding="utf-8")
    try:
        return _run("coqc", *OPTIONS, f"{ASKED}.v", cwd=folder).stdout
    finally:
        for path in folder.glob(f"{ASKED}.*"):
            path.unlink()


def _imports(folder):
    """Return what imports all modules, the model last, whose names are then the shortest."""
    return [f"Require Import {name}." for name in sorted(_modules(folder), key=lambda name: (name == MODEL, name))]


def _names(folder):
    return sorted(path.name for path in folder.glob("*.v"))


def _modules(folder):
    return [path.stem for path in folder.glob("*.v") if path.stem != ASKED]


def _run(program, *words, cwd=None, longest=LONGEST):
    """Return what a program of Coq's did, without what the user's settings would add."""
    if shutil.which(program) is None:
        raise MissingCoq(f"there is no {program} here")
    environment = {name: value for name, value in os.environ.items() if name not in ("COQPATH", "COQEXTRAFLAGS")}
    try:
        done = subprocess.run(
            [program, *words], cwd=cwd, env=environment, capture_output=True, encoding="utf-8", timeout=longest
        )
    except subprocess.TimeoutExpired:
        raise Refused(f"{' '.join(words[-1:])}: not done after {longest} seconds") from None
    if done.returncode == 0:
        return done
    message = done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}"
    if re.search(r"Cannot find a physical path bound to logical path\s+Coquelicot", message):
        raise MissingCoq("there is no Coquelicot here")
    raise Refused(message)
