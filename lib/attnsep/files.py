"""Files of the user: read as UTF-8; written whole or not at all, through links, by one process at a time."""

import errno
import glob
import json
import os
import shutil
import stat
import threading
import warnings
from contextlib import contextmanager, suppress
from json import detect_encoding
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NO_FILES = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a disk"}


def read(path):
    """Return a text in UTF-8, with or without a byte-order mark; every kind of line end becomes a newline.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the text has another encoding.
    OSError
        If the file cannot be read.
    """
    content = Path(path).read_bytes()
    try:
        if detect_encoding(content).startswith("utf-8"):
            return content.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        found = "it looks like UTF-16 or UTF-32"
    except UnicodeDecodeError as error:
        found = f"byte {content[error.start]:#04x} at position {error.start} fits none"
    raise ValueError(f"must be encoded in UTF-8; {found}")


def from_json(text):
    """Return what a JSON text of a user's says.

    Raises
    ------
    ValueError
        In plain words, if it is no JSON text, has a key twice in one object, or has a number that is too long.

    Examples
    --------
    >>> from_json('{"seed": 3}')
    {'seed': 3}
    >>> from_json('{"seed": 3, "seed": 4}')
    Traceback (most recent call last):
    ...
    ValueError: key 'seed': must stand in an object only once
    """
    if not text.strip():
        raise ValueError("it is empty")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=_integer)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"it is no JSON text: {error.msg[:1].lower()}{error.msg[1:]}, {place}") from None
    except RecursionError:
        raise ValueError("its lists and objects are nested too deeply") from None


def _object(pairs):
    from attnsep.checks import text_of

    found = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {text_of(key)}: must stand in an object only once")
        found[key] = value
    return found


def _integer(digits):
    try:
        return int(digits)
    except ValueError:  # more than Python reads
        raise ValueError(f"a number of {len(digits)} characters: is too long") from None


def write(path, content):
    """Write text or bytes, so that an interruption leaves the old file or the new one; leave one alone that has them.

    Parameters
    ----------
    path : str or path
        The file, or a link to it; its folder exists.  What is written to a device, such as /dev/null, just goes there.
    content : str or bytes
        Text is written as UTF-8.

    Raises
    ------
    OSError
        If the file cannot be written, is a folder, a named pipe, a socket or a disk, or takes the standard output.

    Notes
    -----
    The content goes to a temporary file beside the one that is meant, which then takes its name; it keeps the old one's
    mode, and its owner where the process may give files away.  Other names of the old file (hard links) keep the old
    content.  Not even a killed process leaves half a file at `path`.  The temporary file that it leaves beside it
    carries the process's number, and whoever writes the same file next removes it.
    """
    target, content = _target(path), content.encode("utf-8") if isinstance(content, str) else content
    if _is_device(target):
        target.write_bytes(content)
        return
    for other in target.parent.glob(f".{glob.escape(_short_name(target))}.*.tmp"):
        if not _is_running(other.name.split(".")[-2]):
            other.unlink(missing_ok=True)
    old = _require_open(target)
    if old is not None and _has(target, content):
        return
    with _temporary(target, private=old is not None) as (temporary, file):
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        file.close()
        if old is not None:
            _make_alike(temporary, target, old)
        os.replace(temporary, target)


def require_writable(name, path, *, kept=False):
    """Raise an error that names the argument unless `write` can write this file; nothing is changed.

    Parameters
    ----------
    name : str
        What the error should call the path.
    path : str or path
        The file, which may be new.
    kept : bool
        What is written must be there later, so no device will do.

    Raises
    ------
    ValueError, TypeError
        If it is no path, is a folder or a named pipe, say, or if the file or its folder cannot be written to.

    Examples
    --------
    >>> require_writable("--out", "no-such-folder/rows.jsonl")
    Traceback (most recent call last):
    ...
    ValueError: --out = 'no-such-folder/rows.jsonl': cannot be written (its folder does not exist)
    """
    with naming(name, path):
        target = _target(path)
        _require_open(target)
        if not _is_device(target):
            with _temporary(target, private=True):
                pass
        elif kept:
            raise OSError(errno.EINVAL, "it is no regular file, which could be read again")


def is_same(path, other):
    """Return whether two names are of one file, there or not yet there; of one device too.

    Raises
    ------
    OSError
        If one can be no file.

    Examples
    --------
    >>> is_same("rows.jsonl", "./rows.jsonl"), is_same("rows.jsonl", "state")
    (True, False)
    """
    one, two = _target(path), _target(other)
    try:
        return one.samefile(two)
    except FileNotFoundError:  # one of them is new
        return one.name == two.name and one.parent.samefile(two.parent)


@contextmanager
def naming(name, path):
    """Let an error that comes of writing in this block say which argument named the file.

    Raises
    ------
    ValueError, TypeError
        In place of an OSError, or if the path is none.

    Examples
    --------
    >>> with naming("checkpoint", "state"):
    ...     raise PermissionError(13, "Permission denied")
    Traceback (most recent call last):
    ...
    ValueError: checkpoint = 'state': cannot be written (Permission denied)
    """
    from attnsep.checks import text_of  # which needs a package that `make gpu` looks for only later

    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name} = {text_of(path)}: must be a path")
    try:
        if "\0" in os.fspath(path):
            raise OSError(errno.EINVAL, "it has a null character")
        yield
    except OSError as error:
        raise ValueError(f"{name} = {text_of(os.fspath(path))}: cannot be written ({why(error)})") from None


@contextmanager
def locked(path):
    """Let nobody else enter a block with the same file's lock: read, change and `write` it in peace.

    Parameters
    ----------
    path : str or path
        The file under any of its names; a new one is made empty.

    Raises
    ------
    OSError
        If the file cannot be opened for writing.

    Notes
    -----
    Others wait, be they threads or processes; the lock ends with the process that has it.  Where there are no such
    locks (flock), on Windows or on some network drives, two processes that change one file at the same time may lose
    what one of them wrote; on such a drive a warning says so.
    """
    target = _target(path)
    if fcntl is None or _is_device(target):
        yield
        return
    while True:
        handle = os.open(target, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError as error:
                warnings.warn(f"{target}: cannot be locked ({why(error)}); only one run may write it", stacklevel=3)
            if _is_still(handle, target):  # and not replaced by a process that had the lock before
                yield
                return
        finally:
            os.close(handle)


def why(error):
    """Return what an error says, without the path that the sentence around it names anyway.

    Examples
    --------
    >>> why(FileNotFoundError(2, "No such file or directory", "x.json")), why(KeyError("rows"))
    ('No such file or directory', "KeyError: 'rows'")
    """
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if type(error) in (ValueError, TypeError, RuntimeError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _target(path):
    """Return the file behind all links, there or not yet there, or raise an OSError that says why it can be none."""
    path = os.fspath(path)
    if os.path.basename(path) in ("", os.curdir, os.pardir):
        raise IsADirectoryError(errno.EISDIR, "it is a folder" if path else "it is empty")
    try:
        state = os.stat(path)
        mode = state.st_mode
    except (FileNotFoundError, NotADirectoryError):
        state, mode = None, stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if stat.S_IFMT(mode) in NO_FILES:
        raise OSError(errno.EINVAL, f"it is {NO_FILES[stat.S_IFMT(mode)]}")
    if state is not None and stat.S_ISREG(mode) and _is_where_output_goes(state):
        raise OSError(errno.EINVAL, "standard output or error goes there")
    target = Path(os.path.realpath(path) if stat.S_ISREG(mode) else path)
    if not target.parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "its folder does not exist")
    return target


def _is_where_output_goes(state):
    """Return whether a file is open as standard output or error: what is in it would be lost, and what comes later."""
    for handle in (1, 2):
        with suppress(OSError):  # closed
            if os.path.samestat(os.fstat(handle), state):
                return True
    return False


def _is_device(target):
    return target.is_char_device()


def _require_open(target):
    """Return the file's state, None where it is new, or raise an OSError unless it may be written to."""
    try:
        handle = os.open(target, os.O_WRONLY)
    except FileNotFoundError:
        return None
    try:
        return os.fstat(handle)
    finally:
        os.close(handle)


def _has(target, content):
    try:
        return target.read_bytes() == content
    except PermissionError:  # it may be written and not read
        return False


@contextmanager
def _temporary(target, private):
    """Give a new file beside the target, open for writing, and remove it unless it has got another name."""
    path = target.with_name(f".{_short_name(target)}.{threading.get_ident()}.{os.getpid()}.tmp")
    path.unlink(missing_ok=True)  # of an earlier process with this number
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        with open(handle, "wb") as file:
            yield path, file
    finally:
        path.unlink(missing_ok=True)


def _short_name(target):
    """Return the beginning of a name: with more beside it, a long one would be too long."""
    return target.name[:40]


def _make_alike(path, target, old):
    """Give a file the owner, the mode and the further attributes of the one that it replaces, as far as one may."""
    if hasattr(os, "chown"):
        for user, group in ((old.st_uid, -1), (-1, old.st_gid)):
            with suppress(PermissionError):
                os.chown(path, user, group)
    with suppress(PermissionError):
        shutil.copystat(target, path)
    os.utime(path)


def _is_still(handle, target):
    try:
        return os.path.samestat(os.fstat(handle), os.stat(target))
    except FileNotFoundError:
        return False


def _is_running(number):
    """Return whether a process may be running; where no one can tell (or dares to ask, as on Windows), it may."""
    if os.name != "posix" or not number.isdecimal():
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
