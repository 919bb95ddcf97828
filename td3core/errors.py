"""Errors whose text is for the user, and the wording of errors from other software."""

import difflib
import errno
import os
import traceback
from collections.abc import Sequence
from pathlib import PurePath

from td3core.text import Text, Value, one_line

_FILE_REASONS = {
    errno.ENOENT: Text("No such file or directory"),
    errno.EACCES: Text("Permission denied"),
    errno.EPERM: Text("Operation not permitted"),
    errno.EEXIST: Text("File exists"),
    errno.EISDIR: Text("Is a directory"),
    errno.ENOTDIR: Text("Not a directory"),
    errno.ENOTEMPTY: Text("Directory not empty"),
    errno.ENAMETOOLONG: Text("File name too long"),
    errno.ELOOP: Text("Too many levels of symbolic links"),
    errno.EROFS: Text("Read-only file system"),
    errno.ENOSPC: Text("No space left on device"),
    errno.EDQUOT: Text("Disk quota exceeded"),
    errno.EFBIG: Text("File too large"),
    errno.EIO: Text("Input/output error"),
    errno.EBUSY: Text("Device or resource busy"),
    errno.EMFILE: Text("Too many open files"),
    errno.ENOMEM: Text("Cannot allocate memory"),
}
"""Usual reasons by error number, as the operating system words them in English."""


class Interrupt:
    """Records that a signal handler has raised a ``KeyboardInterrupt`` not handled yet.

    C code that calls back into Python, as SDL does to read an image, may replace that exception
    with its own.
    """

    raised = False
    """Not an ``Event``: a handler that interrupts another one would deadlock on its lock."""


interrupt = Interrupt()


class MessageError(Exception):
    """An exception whose text is one plain sentence for the user.

    Attributes:
        message: That sentence.
    """

    def __init__(self, template: str | Text, /, **values: Value) -> None:
        """Take a template and its values, or a finished :class:`Text`."""
        self.message = template if isinstance(template, Text) else Text(template, **values)
        super().__init__(self.message)


class RequestError(MessageError, ValueError):
    """A request cannot be fulfilled: nothing was started, nothing written."""


class NewerError(RequestError):
    """A record was written by a newer version."""


class RunError(MessageError, RuntimeError):
    """A run that has started cannot continue; the message names the cause and the step."""


class StoppedError(Exception):
    """A stop was requested during preparation."""


def require_no_interrupt(problem: BaseException) -> None:
    """Re-raise a Ctrl-C; any other exception of foreign code counts as a failure of that code.

    Environments may call ``sys.exit``, which ``except Exception`` does not catch. They may also
    have turned the Ctrl-C into another exception, see :class:`Interrupt`.
    """
    if isinstance(problem, KeyboardInterrupt):
        raise problem
    if interrupt.raised:
        raise KeyboardInterrupt from problem


def reason_of(problem: BaseException) -> str:
    """Return the text of an exception; if it has none, its type, or the call of ``sys.exit``."""
    if isinstance(problem, SystemExit):
        return f"it called sys.exit({'' if problem.code is None else repr(problem.code)})"
    return str(problem) or type(problem).__name__


def file_reason(problem: BaseException) -> str | Text:
    """Return why a file cannot be used, without its name and without a full stop."""
    if isinstance(problem, KeyError):
        return Text("{key} is missing", key=brief(problem))
    if isinstance(problem, UnicodeDecodeError):
        return Text("it is not UTF-8 text")
    if not isinstance(problem, OSError) or not problem.strerror:
        return brief(reason_of(problem)).rstrip(".")
    usual = _FILE_REASONS.get(problem.errno or 0)
    # Other software may give the number with words of its own.
    if usual is not None and problem.strerror == os.strerror(problem.errno or 0):
        return usual
    return brief(problem.strerror).rstrip(".")


def newer(unknown: str = "") -> NewerError:
    """Return the error for a record of a newer version, of which perhaps a name is unknown."""
    if not unknown:
        return NewerError("it was written by a newer TD3 Studio")
    return NewerError(
        "it was written by a newer TD3 Studio: {name} is not known here", name=repr(brief(unknown))
    )


def unreadable(path: PurePath, problem: BaseException) -> RequestError:
    """Return the error for a file or folder that cannot be read."""
    return RequestError(
        "{path} cannot be read: {reason}.", path=str(path), reason=file_reason(problem)
    )


def unwritable(path: PurePath, problem: BaseException) -> RequestError:
    """Return the error for a file or folder that cannot be written."""
    return RequestError(
        "{path} cannot be written: {reason}.", path=str(path), reason=file_reason(problem)
    )


def unusable(problem: OSError) -> Text:
    """Return the message for an error of the file system that no other message covers."""
    reason = file_reason(problem)
    if problem.filename:
        # Such as a path that is too long, or in a folder that may not be read.
        path = brief(problem.filename)
        return Text("{path} cannot be used: {reason}.", path=path, reason=reason)
    return Text("Failed: {reason}.", reason=reason)


def no_process(problem: OSError) -> Text:
    """Return the message for a process that could not be started."""
    return Text("No process could be started: {reason}.", reason=file_reason(problem))


def in_file(path: PurePath, problem: BaseException) -> RequestError:
    """Return the error for a file whose contents were refused with a sentence."""
    return RequestError("{path}: {problem}", path=str(path), problem=message_of(problem))


def message_of(problem: BaseException) -> Text:
    """Return the message of an exception, or its text if it is not a :class:`MessageError`."""
    return problem.message if isinstance(problem, MessageError) else quoted(str(problem))


def quoted(text: str) -> Text:
    """Return text of other software as a message; it is a value, so it is never translated."""
    return Text("{text}", text=text)


def brief(problem: object, most: int = 200) -> str:
    """Return the text of an exception, or of anything, on one line of ``most`` characters."""
    text = one_line(str(problem))
    return text if len(text) <= most else f"{text[:most]}…"


def traceback_of(problem: BaseException) -> str:
    """Return the traceback; empty if the message is sufficient.

    For a :class:`RunError` this is the traceback of its cause, such as an environment's exception.
    """
    blamed = problem.__cause__ if isinstance(problem, RunError) else problem
    return "".join(traceback.format_exception(blamed)) if blamed else ""


def unknown_name(
    template: str, /, name: object, known: Sequence[str], **values: Value
) -> RequestError:
    """Return the error for a name that does not exist, with the most similar ones that do.

    Args:
        template: A sentence about the ``name``, such as "There is no preset called {name}."
        name: The given value; not necessarily text.
        known: All valid names.
        values: The other values of the template.
    """
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    if not near and len(part := str(name).casefold()) > 2:
        # Such as tqc for BipedalWalker-v3-tqc.
        near = [each for each in known if part in each.casefold()][:3]
    if not near:
        hint = Text("Known: {names}.", names=", ".join(known))
    elif len(near) == 1:
        hint = Text("Did you mean {suggestion}?", suggestion=near[0])
    else:
        hint = Text("Did you mean one of these: {suggestions}?", suggestions=", ".join(near))
    sentence = Text(template, name=brief(repr(str(name))), **values)
    return RequestError("{sentence} {hint}", sentence=sentence, hint=hint)
