"""Files that are written whole, through links, and by one process at a time; tools/tests/test_files.py has more."""

import errno
import os
import socket
import stat
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from attnsep import files
from attnsep.checks import text_of
from lib.tests.children import run


def test_write_goes_through_links_and_leaves_them(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    first, second, target = tmp_path / "first", folder / "second", folder / "target"
    first.symlink_to(Path("folder", "second"))
    second.symlink_to("target")
    for content in ("new", "newer"):  # the target is not there yet, then it is
        files.require_writable("path", first)
        files.write(first, content)
        assert target.read_text() == content
        assert (os.readlink(first), os.readlink(second)) == (os.path.join("folder", "second"), "target")
        assert sorted(folder.iterdir()) == [second, target]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o4755])  # a change of the owner takes the last one's 4
def test_write_keeps_mode_and_owner(tmp_path, mode):
    path = tmp_path / "a"
    path.write_text("old")
    if os.geteuid() == 0:  # nobody else may give files away
        os.chown(path, 1234, 2345)
    path.chmod(mode)
    before = path.stat()
    files.write(path, "new")
    after = path.stat()
    assert path.read_text() == "new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_mtime_ns >= before.st_mtime_ns


def test_a_file_that_has_the_content_already_is_left_alone(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    os.utime(path, ns=(0, 0))
    before = path.stat()
    files.write(path, b"old")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, 0)
    files.write(path, "new")
    assert path.stat().st_mtime_ns > 0, "what is written has the time at which it was, and not that of the old content"


def test_nobody_else_reads_the_new_content_of_a_file_before_it_has_the_old_ones_mode(tmp_path, monkeypatch):
    path, modes, real = tmp_path / "a", [], os.fsync
    path.write_text("old")
    path.chmod(0o640)
    monkeypatch.setattr(files.os, "fsync", lambda handle: modes.append(os.fstat(handle).st_mode) or real(handle))
    files.write(path, "new")
    assert [stat.S_IMODE(mode) for mode in modes] == [0o600]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_who_may_give_a_file_to_no_other_user_still_gives_it_to_the_group(tmp_path, monkeypatch):
    path, given = tmp_path / "a", []
    path.write_text("old")

    def chown(name, user, group):
        if user != -1:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        given.append(group)

    monkeypatch.setattr(files.os, "chown", chown)
    files.write(path, "new")
    assert (path.read_text(), given) == ("new", [path.stat().st_gid])


@pytest.mark.parametrize("refused", [(Path, "read_bytes"), (files.shutil, "copystat")], ids=["to read", "to take over"])
def test_a_file_is_written_where_something_else_is_refused(tmp_path, monkeypatch, refused):
    path = tmp_path / "a"
    path.write_text("old")

    def refusing(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(*refused, refusing)
    files.write(path, "new")
    assert path.read_text() == "new"


def test_a_new_file_has_the_mode_that_every_new_file_has(tmp_path):
    other = tmp_path / "other"
    other.touch()
    files.write(tmp_path / "a", "new")
    assert (tmp_path / "a").stat().st_mode == other.stat().st_mode


def test_another_name_of_the_file_keeps_the_old_content(tmp_path):
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_text("old")
    os.link(path, other)
    files.write(path, "new")
    assert (path.read_text(), other.read_text()) == ("new", "old")


def test_what_is_written_to_a_device_goes_there():
    files.require_writable("path", os.devnull)
    files.write(os.devnull, "text")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with files.locked(os.devnull):
        pass


@pytest.fixture
def places(tmp_path):
    """Return what nothing can be written to, and why."""
    (tmp_path / "file").write_text("old")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("none/x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to-pipe").symlink_to("pipe")
    return {
        tmp_path: "it is a folder",
        tmp_path / "loop": os.strerror(errno.ELOOP),
        tmp_path / "nowhere": "its folder does not exist",
        tmp_path / "pipe": "it is a named pipe",
        tmp_path / "to-pipe": "it is a named pipe",
        tmp_path / "none" / "x": "its folder does not exist",
        tmp_path / "file" / "x": "its folder does not exist",
        tmp_path / ("a" * 300): os.strerror(errno.ENAMETOOLONG),
        "": "it is empty",
        f"{tmp_path}/new/": "it is a folder",
        f"{tmp_path}/new/.": "it is a folder",
        "a\0b": "it has a null character",
    }


def test_what_cannot_be_written_is_refused_at_once_and_nothing_is_touched(places, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    for path, reason in places.items():
        with pytest.raises(ValueError, match=r"^--out = .*: cannot be written \(") as caught:
            files.require_writable("--out", path)
        assert str(caught.value).endswith(f"({reason})")
        with pytest.raises((OSError, ValueError)):
            files.write(path, "new")
    with pytest.raises(TypeError, match=r"^--out = 3: must be a path$"):
        files.require_writable("--out", 3)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "old"


def test_files_of_one_name_in_two_folders_are_two(tmp_path):
    (tmp_path / "folder").mkdir()
    for there in ((), ("a",), ("a", "folder/a")):
        for name in there:
            (tmp_path / name).touch()
        assert not files.is_same(tmp_path / "a", tmp_path / "folder" / "a")
    assert files.is_same(tmp_path / "folder" / ".." / "a", tmp_path / "a")
    os.link(tmp_path / "a", tmp_path / "hard")
    assert files.is_same(tmp_path / "hard", tmp_path / "a")


def test_a_path_is_named_as_its_text_is(tmp_path):
    for path in (tmp_path, str(tmp_path)):
        with pytest.raises(ValueError, match=r"\(it is a folder\)$") as caught:
            files.require_writable("--out", path)
        assert str(caught.value).startswith(f"--out = {text_of(str(tmp_path))}: cannot be written (")


def opened():
    """Return the handle that the next file gets, which is the lowest one that is free."""
    handle = os.open(os.devnull, os.O_RDONLY)
    os.close(handle)
    return handle


def locked_in_vain(path):
    with suppress(KeyError), files.locked(path):
        raise KeyError


def required_as_a_folder(path):
    with suppress(ValueError):
        files.require_writable("path", path.parent)


@pytest.mark.parametrize(
    "use",
    [
        lambda path: files.write(path, "new"),
        lambda path: files.write(path, "old"),
        lambda path: files.write(path.with_name("b"), "new"),
        lambda path: files.require_writable("path", path),
        required_as_a_folder,
        locked_in_vain,
    ],
    ids=["write", "write the same", "write a new file", "require", "require in vain", "lock in vain"],
)
def test_no_handle_stays_open(tmp_path, use):
    path = tmp_path / "a"
    path.write_text("old")
    before = opened()
    use(path)
    assert opened() == before


def test_an_error_in_the_block_gives_the_lock_back(tmp_path):
    path = tmp_path / "a"
    locked_in_vain(path)
    with open(path) as file:  # another handle, which the lock would keep out
        files.fcntl.flock(file, files.fcntl.LOCK_EX | files.fcntl.LOCK_NB)


def test_a_socket_is_refused():
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as end:  # whose path must be short
        end.bind(f"{folder}/s")
        with pytest.raises(ValueError, match=r"\(it is a socket\)$"):
            files.require_writable("path", f"{folder}/s")


@pytest.mark.parametrize("closed", ["file", "folder"])
def test_a_file_or_folder_that_may_not_be_written_to_is_refused(tmp_path, monkeypatch, closed):
    path, real = tmp_path / "a", os.open
    path.write_text("old")

    def refusing(name, flags, *mode):  # root may write everywhere
        if (Path(name) == path) == (closed == "file") and flags & os.O_WRONLY:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(name))
        return real(name, flags, *mode)

    monkeypatch.setattr(files.os, "open", refusing)
    with pytest.raises(ValueError, match=r": cannot be written \(Permission denied\)$"):
        files.require_writable("path", path)
    with pytest.raises(PermissionError):
        files.write(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["/dev/stdout", "log"])
def test_the_file_that_takes_standard_output_is_not_replaced(tmp_path, place):
    log = tmp_path / "log"
    log.write_text("mine\n")
    code = "import os, sys; os.dup2(os.open('log', os.O_WRONLY | os.O_APPEND), 1)\n"
    code += "from attnsep import files; files.require_writable('--out', sys.argv[1])"
    done = run("-c", code, place, cwd=tmp_path)
    assert "cannot be written (standard output or error goes there)" in done.stderr
    assert log.read_text() == "mine\n"


def test_a_long_name_leaves_room_for_the_temporary_file(tmp_path):
    path = tmp_path / ("ü" * 120)  # 240 bytes
    for content in ("new", "newer"):
        files.write(path, content)
        assert path.read_text() == content
    assert list(tmp_path.iterdir()) == [path]


def test_threads_that_write_one_file_leave_it_whole(tmp_path):
    path, contents = tmp_path / "a", [str(k) * 10_000 for k in range(4)]
    threads = [
        threading.Thread(target=lambda text=text: [files.write(path, text) for _ in range(20)]) for text in contents
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_who_waits_for_a_lock_gets_it_of_the_file_that_is_there_then(tmp_path):
    """A counter that four threads raise through three names: every step replaces the file that the others wait for."""
    path, link = tmp_path / "a", tmp_path / "b"
    link.symlink_to(path)

    def count(name):
        for _ in range(25):
            with files.locked(name):
                files.write(name, str(int(Path(name).read_text() or 0) + 1))

    names = [path, link, tmp_path / "." / "a", os.path.relpath(path)]
    threads = [threading.Thread(target=count, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "100"


def test_a_drive_without_locks_is_named(tmp_path, monkeypatch):
    def none(handle, kind):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(files.fcntl, "flock", none)
    sentence = r"a: cannot be locked \(.*\); only one run may write it"
    with pytest.warns(UserWarning, match=sentence), files.locked(tmp_path / "a"):
        pass


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_read_takes_marks_and_line_ends_of_every_system(tmp_path, mark, ends):
    path = tmp_path / "a"
    path.write_bytes(mark + f"ä{ends}b{ends}".encode())
    assert files.read(path) == "ä\nb\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_read_says_which_encoding_is_needed(tmp_path, encoding):
    path = tmp_path / "a"
    path.write_text('{"ä": 1}', encoding=encoding)
    with pytest.raises(ValueError, match=r"^must be encoded in UTF-8; "):
        files.read(path)


def test_read_names_the_byte_that_fits_none_and_its_place(tmp_path):
    path = tmp_path / "a"
    for mark in (b"", b"\xef\xbb\xbf"):
        path.write_bytes(mark + b"ab\xff\xfed")
        place = len(mark) + 2
        with pytest.raises(ValueError, match=rf"^must be encoded in UTF-8; byte 0xff at position {place} fits none$"):
            files.read(path)


def test_the_line_of_what_the_system_refused_has_no_path():
    assert files.why(PermissionError(errno.EACCES, "Permission denied", "/a/b")) == "Permission denied"
    assert files.why(AssertionError()) == "AssertionError"
    assert files.why(RuntimeError("no room")) == "no room"
    assert files.why(RecursionError("too deep")) == "RecursionError: too deep"
    assert sys.executable not in files.why(FileNotFoundError(errno.ENOENT, "No such file", sys.executable))


def test_what_is_no_json_is_said_in_plain_words():
    with pytest.raises(ValueError, match=r"^it is no JSON text: expecting value, line 2, column 5$"):
        files.from_json('{\n"a":?}')
    with pytest.raises(ValueError, match=r"^it is empty$"):
        files.from_json(" \n")
    with pytest.raises(ValueError, match=r"^a number of 5000 characters: is too long$"):
        files.from_json("1" * 5000)


def test_what_a_killed_process_left_beside_a_file_is_removed_and_what_a_running_one_has_stays(tmp_path):
    ended = run("-c", "import os; print(os.getpid())").stdout.strip()
    left, kept = (tmp_path / f".a.1.{number}.tmp" for number in (ended, os.getppid()))
    for path in (left, kept):
        path.touch()
    files.write(tmp_path / "a", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([kept.name, "a"])


def test_what_a_killed_process_left_is_removed_where_nothing_new_is_written_too(tmp_path):
    ended = run("-c", "import os; print(os.getpid())").stdout.strip()
    (tmp_path / "a").write_text("old")
    (tmp_path / f".a.1.{ended}.tmp").touch()
    files.write(tmp_path / "a", "old")
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_what_an_earlier_process_of_this_number_left_is_in_nobodys_way(tmp_path):
    """As after a restart, or in a container, where numbers come again."""
    path, left = tmp_path / "a", tmp_path / f".a.{threading.get_ident()}.{os.getpid()}.tmp"
    for content in ("new", "newer"):
        left.write_text("half of something much longer")
        files.require_writable("path", path)
        left.write_text("half of something much longer")
        files.write(path, content)
        assert path.read_text() == content
        assert list(tmp_path.iterdir()) == [path]


def test_only_a_number_that_no_process_has_is_not_running():
    ended = run("-c", "import os; print(os.getpid())").stdout.strip()
    found = {number: files._is_running(number) for number in (ended, str(os.getpid()), "1", "one", str(10**30))}
    assert [number for number, running in found.items() if not running] == [ended]


def test_a_lock_is_of_the_file_that_has_the_name_now(tmp_path):
    path = tmp_path / "a"
    path.touch()
    with open(path) as file:
        assert files._is_still(file.fileno(), path)
        path.rename(tmp_path / "b")
        assert not files._is_still(file.fileno(), path)  # gone
        path.touch()
        assert not files._is_still(file.fileno(), path)  # another one


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "os.close(1); "], ids=["both", "standard output is closed"])
def test_the_file_that_takes_standard_error_is_not_replaced(tmp_path, before):
    (tmp_path / "log").touch()
    code = f"""
import os
from attnsep import files
log, said = os.open("log", os.O_WRONLY | os.O_APPEND), os.open("said", os.O_WRONLY | os.O_CREAT)
os.dup2(log, 2)
{before}os.close(log)
try:
    files.require_writable("--out", "log")
except ValueError as error:
    os.write(said, str(error).encode())
"""
    run("-c", code, cwd=tmp_path)
    said = (tmp_path / "said").read_text(encoding="utf-8")
    assert said == "--out = 'log': cannot be written (standard output or error goes there)"
