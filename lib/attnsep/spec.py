"""Names of attention kernels, such as ``softmax``, ``softmax:2`` or ``topk:16``, and what their parameter may be."""

import re
from fractions import Fraction
from typing import NamedTuple

from attnsep.arrays import require_choice, text_of
from attnsep.data import require_decimal, require_integer

PAIR = ("softmax", "linear")  # the two that the paper compares

# What follows the colon: nothing, or (its name, whether it may be left out, the least value); a whole number unless β.
PARAMETERS = {
    "softmax": ("beta", True, 0),
    "linear": None,
    "polynomial": ("degree", False, 1),
    "squared-relu": None,
    "sigmoid": None,
    "elu+1": None,
    "relu": None,
    "performer": ("features", False, 1),
    "topk": ("k", False, 1),
    "sparsemax": None,
    "entmax": None,
    "hard": None,
    "window": ("width", False, 0),
}


class Kernel(NamedTuple):
    """A kernel's name and its parameter: β of softmax, a degree, a number of features, k, a width, or None."""

    name: str
    parameter: Fraction | int | None


def require_kernel(kernel):
    """Return the name and the parameter that a kernel's text stands for, or raise an error.

    Parameters
    ----------
    kernel : str
        A name of ``PARAMETERS``, with a colon and a number where the kernel has a parameter; ``softmax`` alone has
        β = 1.

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError, TypeError
        If the text is no such kernel.

    Notes
    -----
    Definition: def-kernels.

    Examples
    --------
    >>> require_kernel("softmax"), require_kernel("topk:16")
    (Kernel(name='softmax', parameter=Fraction(1, 1)), Kernel(name='topk', parameter=16))
    >>> require_kernel("topk:0")
    Traceback (most recent call last):
    ...
    ValueError: kernel = 'topk:0': k = 0: must be at least 1
    """
    if not isinstance(kernel, str):
        raise TypeError(f"kernel = {text_of(kernel)}: must be a string such as softmax or topk:16")
    name, colon, text = kernel.partition(":")
    if name not in PARAMETERS:
        raise ValueError(f"kernel = {kernel!r}: must be one of {', '.join(map(usage, PARAMETERS))}")
    if PARAMETERS[name] is None or not colon:
        if colon or (PARAMETERS[name] and not PARAMETERS[name][1]):
            raise ValueError(f"kernel = {kernel!r}: must be {usage(name)}")
        return Kernel(name, Fraction(1) if name == "softmax" else None)
    what, _, least = PARAMETERS[name]
    try:
        if what == "beta":
            return Kernel(name, require_decimal(what, text, least))
        if not re.fullmatch(r"[+-]?[0-9]{1,300}", text):
            raise ValueError(f"{what} = {text!r}: must be a whole number")
        return Kernel(name, require_integer(what, int(text), least))
    except ValueError as error:
        raise ValueError(f"kernel = {kernel!r}: {error}") from None


def require_pair(kernel):
    """Return `kernel` if it is one of the two that the paper compares, or raise a ValueError.

    Examples
    --------
    >>> require_pair("hard")
    Traceback (most recent call last):
    ...
    ValueError: kernel = 'hard': must be softmax or linear here
    """
    if not isinstance(kernel, str) or kernel not in PAIR:
        raise ValueError(f"kernel = {text_of(kernel)}: must be softmax or linear here")
    return kernel


def usage(name):
    """Return how the kernel is written: its name, and the parameter after a colon.

    Examples
    --------
    >>> usage("topk"), usage("softmax"), usage("hard")
    ('topk:k', 'softmax[:beta]', 'hard')
    """
    what, optional, _ = PARAMETERS[require_choice("name", name, PARAMETERS)] or ("", True, 0)
    return name + (f"[:{what}]" if what and optional else f":{what}" if what else "")
