"""Kinds of arguments and results, each named once: they stand in annotations, and a type checker compares them.

What a number or an array must be beyond its kind is checked where it enters, by `checks` and `arrays`.
"""

from fractions import Fraction
from types import ModuleType
from typing import Any, Protocol, TypeAlias, TypeVar

#: A number without rounding; a string is a decimal or a ratio, such as ``0.1`` or ``1/3``.
Exact: TypeAlias = int | Fraction | str

#: A number that is read exactly; a float stands for the decimal that it prints.
Number: TypeAlias = Exact | float

#: A module with the names of the array API.
Namespace: TypeAlias = ModuleType


class Array(Protocol):
    """An array of any library that keeps the array API; only what NumPy, CuPy and others share stands here."""

    @property
    def dtype(self) -> Any:
        """The kind of its entries."""

    @property
    def ndim(self) -> int:
        """The number of axes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""

    def __getitem__(self, key: Any, /) -> Any: ...

    def __setitem__(self, key: Any, value: Any, /) -> None: ...

    def __add__(self, other: Any, /) -> Any: ...

    def __sub__(self, other: Any, /) -> Any: ...

    def __mul__(self, other: Any, /) -> Any: ...

    def __truediv__(self, other: Any, /) -> Any: ...

    def __matmul__(self, other: Any, /) -> Any: ...

    def __eq__(self, other: Any, /) -> Any: ...

    def __gt__(self, other: Any, /) -> Any: ...

    def __float__(self) -> float: ...


#: Arrays of one library, where the result is of the same one.
AnyArray = TypeVar("AnyArray", bound=Array)
