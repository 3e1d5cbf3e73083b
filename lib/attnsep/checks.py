"""The validators: an argument is looked at where it enters, and refused with its name, its value and the rule."""

import math
import numbers
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from attnsep.kinds import Array, Namespace

T = TypeVar("T")


def text_of(value: object) -> str:
    """Return how a value prints, for an error: at most a hundred characters of it.

    Python refuses to print very long integers.

    Examples
    --------
    >>> text_of("a"), text_of(10**5000)
    ("'a'", 'a number of more than 4300 digits')
    >>> text_of("abc" * 1000)
    "'abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabca … cabcabcabcabcabc' (3002 characters)"
    """
    try:
        text = repr(value)
    except ValueError:
        return "a number of more than 4300 digits"
    return text if len(text) <= 100 else f"{text[:56]} … {text[-17:]} ({len(text)} characters)"


def require_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return `value` if it is one of the words, or raise a ValueError that names it.

    Examples
    --------
    >>> require_choice("order", "diagonal", ("row", "column"))
    Traceback (most recent call last):
    ...
    ValueError: order = 'diagonal': must be one of row, column
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} = {text_of(value)}: must be one of {listed([*choices])}")
    return value


def listed(words: Sequence[str]) -> str:
    """Return words with commas between them, and in quotation marks those that have a comma themselves.

    Examples
    --------
    >>> listed(["softmax", "linear, not normalised"])
    "softmax, 'linear, not normalised'"
    """
    return ", ".join(repr(word) if "," in word else word for word in map(str, require_items("words", words)))


def require_plain(name: str, array: object) -> None:
    """Raise a TypeError if the array is a NumPy array with rules of its own, such as a mask or matrix products.

    Memory maps are plain.  What is no NumPy array passes.

    Examples
    --------
    >>> import numpy as np
    >>> require_plain("scores", np.ma.masked_equal([1.0, 2.0], 2.0))
    Traceback (most recent call last):
    ...
    TypeError: scores: is a masked array, whose mask would be ignored; fill it, with -inf where a token is masked
    """
    if isinstance(array, np.ma.MaskedArray):
        why = "is a masked array, whose mask would be ignored; fill it, with -inf where a token is masked"
        raise TypeError(f"{name}: {why}")
    if isinstance(array, np.ndarray) and type(array) not in (np.ndarray, np.memmap):
        kind = f"{type(array).__module__}.{type(array).__qualname__}"
        raise TypeError(f"{name}: is a {kind}, must be a plain array; numpy.asarray makes it one")


def require_floating(xp: Namespace, **arrays: Array) -> None:
    """Raise a TypeError that names the first array whose dtype is neither float64 nor float32.

    Half precision is refused: a sum over 70000 tokens overflows it and would leave all weights 0.

    Examples
    --------
    >>> import numpy as np
    >>> require_floating(np, scores=np.arange(3))
    Traceback (most recent call last):
    ...
    TypeError: scores: dtype int64, must be float64 or float32
    """
    for name, array in arrays.items():
        if array.dtype not in (xp.float64, xp.float32):
            raise TypeError(f"{name}: dtype {array.dtype}, must be float64 or float32")


def require_finite(xp: Namespace, result: T, names: str) -> T:
    """Return the result, or raise a ValueError that names what it came from if it has NaN or inf.

    Examples
    --------
    >>> import numpy as np
    >>> require_finite(np, np.array([np.nan]), "A, x")
    Traceback (most recent call last):
    ...
    ValueError: A, x: the result is not finite; they have NaN or inf, or are too large
    """
    if not bool(xp.all(xp.isfinite(result))):
        raise ValueError(f"{names}: the result is not finite; they have NaN or inf, or are too large")
    return result


def require_shape(name: str, array: Array, shape: tuple[int | str, ...]) -> None:
    """Raise a ValueError unless `array` has the shape; a string in `shape` stands for any length.

    Examples
    --------
    >>> import numpy as np
    >>> require_shape("A", np.ones((3, 2)), ("n", 2))
    >>> require_shape("x", np.ones(3), (2,))
    Traceback (most recent call last):
    ...
    ValueError: x: shape (3,), must be (2,)
    """
    fits = len(array.shape) == len(shape) and all(
        isinstance(want, str) or have == want for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = "(" + ", ".join(str(want) for want in shape) + ("," if len(shape) == 1 else "") + ")"
        raise ValueError(f"{name}: shape {tuple(array.shape)}, must be {wanted}")


def require_probability(name: str, value: Any) -> Fraction:
    """Return `value`, a number or a decimal string, as a Fraction strictly between 0 and 1.

    Examples
    --------
    >>> require_probability("delta", "0.1")
    Fraction(1, 10)
    >>> require_probability("delta", 1)
    Traceback (most recent call last):
    ...
    ValueError: delta = 1: must be a number strictly between 0 and 1
    """
    try:
        fraction = _fraction(value) if isinstance(value, str) else Fraction(value)
    except (TypeError, ValueError, ArithmeticError):  # no number, no decimal, NaN, inf, 1/0
        fraction = None
    if fraction is None or not 0 < fraction < 1:
        raise ValueError(f"{name} = {text_of(value)}: must be a number strictly between 0 and 1")
    if fraction.denominator.bit_length() > 3.32 * MOST_DIGITS:
        raise ValueError(f"{name} = {text_of(value)}: must have at most {MOST_DIGITS} digits")
    return fraction


LARGEST_EXPONENT = 300  # beyond, a number would overflow where the laws turn it into a double


MOST_ENTRIES = 3 * 10**8  # of one array: 2.4 GB


MOST_DIGITS = 4000  # Python prints 4300


SMALLEST, BEYOND = Fraction(1, 10**1000), 10 ** (LARGEST_EXPONENT + 1)  # of decimals


def require_integer(name: str, value: Any, least: int, most: int = 10 ** (LARGEST_EXPONENT + 1)) -> int:
    """Return `value` as an int from `least` to `most`, or raise an error that names it.

    Examples
    --------
    >>> require_integer("n", 8, least=2)
    8
    >>> require_integer("n", 1, least=2)
    Traceback (most recent call last):
    ...
    ValueError: n = 1: must be at least 2
    """
    if type(value) is not int:  # asking for the abstract type takes longer than all the rest
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(f"{name} = {text_of(value)}: must be an integer")
        value = int(value)
    if value < least:
        raise ValueError(f"{name} = {text_of(value)}: must be at least {least}")
    if value > most:
        raise ValueError(f"{name} = {text_of(value)}: must be at most {shown_integer(most)}")
    return value


def shown_integer(value: int) -> str:
    """Return an integer as text, powers of ten in short.

    Examples
    --------
    >>> shown_integer(10**300), shown_integer(5000)
    ('10^300', '5000')
    """
    digits = str(value)
    return f"10^{len(digits) - 1}" if len(digits) > 6 and not digits.strip("10") and digits.count("1") == 1 else digits


def require_real(name: str, value: Any) -> float:
    """Return `value` as a finite float, or raise an error that names it.

    Examples
    --------
    >>> require_real("tau", math.nan)
    Traceback (most recent call last):
    ...
    ValueError: tau = nan: must be finite
    """
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        raise TypeError(f"{name} = {text_of(value)}: must be a real number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} = {text_of(value)}: must be finite")
    return number


def require_double(name: str, value: Any) -> float:
    """Return `value` as a float, NaN and the infinities included, or raise an error that names it.

    Examples
    --------
    >>> require_double("margin", math.inf)
    inf
    >>> require_double("margin", "1")
    Traceback (most recent call last):
    ...
    TypeError: margin = '1': must be a real number
    """
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name} = {text_of(value)}: must be a real number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} = {text_of(value)}: is too large for a double") from None


def require_positive(name: str, value: Any) -> float:
    """Return `value` as a finite float above zero, or raise an error that names it.

    Examples
    --------
    >>> require_positive("low", -1.0)
    Traceback (most recent call last):
    ...
    ValueError: low = -1.0: must be finite and above 0
    """
    try:
        number = require_real(name, value)
    except ValueError:
        number = math.nan
    if not number > 0:
        raise ValueError(f"{name} = {text_of(value)}: must be finite and above 0")
    return number


def require_size(**lengths: int) -> None:
    """Raise a ValueError that names the lengths if an array of this shape has more than 3·10^8 entries.

    Examples
    --------
    >>> require_size(n=10**9, d=3)
    Traceback (most recent call last):
    ...
    ValueError: n, d = 1000000000, 3: an array must have at most 3·10^8 entries
    """
    if math.prod(lengths.values()) > MOST_ENTRIES:
        raise ValueError(
            f"{', '.join(lengths)} = {', '.join(map(str, lengths.values()))}: an array must have at most 3·10^8 entries"
        )


def require_instance(name: str, value: object, kind: type[T]) -> T:
    """Return `value` if it is of this class, or raise a TypeError that names it.

    Examples
    --------
    >>> require_instance("share", 3, Fraction)
    Traceback (most recent call last):
    ...
    TypeError: share = 3: must be of the class Fraction
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} = {text_of(value)}: must be of the class {kind.__name__}")
    return value


def require_items(name: str, value: Any) -> list[Any]:
    """Return the entries as a list, or raise a TypeError that names what has none; a text is no sequence here.

    Examples
    --------
    >>> require_items("ids", (1, 2)), require_items("ids", [])
    ([1, 2], [])
    >>> require_items("ids", "one")
    Traceback (most recent call last):
    ...
    TypeError: ids = 'one': must be a sequence
    """
    require_plain(name, value)
    try:
        if not isinstance(value, (str, bytes, dict)):
            return list(value)
    except TypeError:
        pass
    raise TypeError(f"{name} = {text_of(value)}: must be a sequence")


def require_generator(rng: Any) -> np.random.Generator:
    """Return `rng` if it is a numpy.random.Generator, or raise a TypeError.

    Examples
    --------
    >>> require_generator(11)
    Traceback (most recent call last):
    ...
    TypeError: rng = 11: must be a numpy.random.Generator, such as numpy.random.default_rng(11)
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng = {text_of(rng)}: must be a numpy.random.Generator, such as numpy.random.default_rng(11)")
    return rng


def require_decimal(name: str, value: Any, least: int = 0) -> Fraction:
    """Return `value` as the exact Fraction that its decimal digits say, at least `least`, or raise an error.

    A float stands for the shortest decimal that prints it: 0.7 is 7/10 and not the binary number next to it.

    Examples
    --------
    >>> require_decimal("a", 0.7), require_decimal("a", "0.7"), require_decimal("a", Fraction(2, 3))
    (Fraction(7, 10), Fraction(7, 10), Fraction(2, 3))
    >>> require_decimal("a", -0.1)
    Traceback (most recent call last):
    ...
    ValueError: a = -0.1: must be at least 0
    """
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal, str)):
        raise TypeError(f"{name} = {text_of(value)}: must be a real number or a decimal string")
    try:
        exact = _fraction(value)
    except (ValueError, ZeroDivisionError):  # NaN, inf, words, 1/0
        raise ValueError(f"{name} = {text_of(value)}: must be a finite number or a decimal string") from None
    if exact is not None and exact >= least and _is_moderate(exact):
        return exact
    if exact is None or (exact and not SMALLEST <= abs(exact) < BEYOND):
        raise ValueError(f"{name} = {text_of(value)}: must be 0 or between 1e-1000 and 1e{LARGEST_EXPONENT}")
    if exact < least:
        raise ValueError(f"{name} = {text_of(value)}: must be at least {least}")
    if exact > 10**LARGEST_EXPONENT:
        raise ValueError(f"{name} = {text_of(value)}: must be at most 1e{LARGEST_EXPONENT}")
    if max(exact.as_integer_ratio()).bit_length() > 3.32 * MOST_DIGITS:
        raise ValueError(f"{name} = {text_of(value)}: must have at most {MOST_DIGITS} digits")
    return exact


def _is_moderate(exact: Fraction) -> bool:
    """Whether a number is plainly within the limits: comparing Fractions of a thousand digits takes long."""
    numerator, denominator = (part.bit_length() for part in exact.as_integer_ratio())
    return numerator < 900 and denominator < 900


def _fraction(value: object) -> Fraction | None:
    """Return the Fraction that a number or a text stands for, or None where it is far beyond the limits."""
    if type(value) is Fraction:
        return value
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))  # NumPy's integers would overflow
    text = str(value)
    try:
        if not -1000 <= Decimal(text).adjusted() <= LARGEST_EXPONENT:  # before a million digits are made
            return None if Decimal(text) else Fraction(0)
    except InvalidOperation:  # a ratio, an exponent of twenty digits, or no number at all
        if number := re.fullmatch(r"([^/]*)e[+-]?[0-9]+", text.strip(), re.IGNORECASE):
            return None if Fraction(number[1]) else Fraction(0)
    return Fraction(text)
