"""Refuses files of other programs, in one sentence with file name, part and reason."""

import csv
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from td3core.errors import RequestError, file_reason
from td3core.text import Text, Value

# Anything Python may raise while it reads damaged or malicious data.
DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    csv.Error,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
    # If warnings are errors: Python warns about invalid escape sequences.
    Warning,
)


class UnexpectedError(ValueError):
    """A part of a file is not as expected; the reason completes "in PART, …"."""

    def __init__(self, template: str | Text, /, **values: Value) -> None:
        """Take a template and its values, or a finished :class:`Text`."""
        self.reason = template if isinstance(template, Text) else Text(template, **values)
        super().__init__(self.reason)


@contextmanager
def reading(file: str, part: str) -> Iterator[None]:
    """Refuse a file that turns out damaged or of another kind while this part is read.

    Args:
        file: Its name.
        part: The part being read, such as the name of a member.

    Raises:
        RequestError: any of :data:`DAMAGE` was raised; the message names file, part and reason.
    """
    try:
        yield
    except RequestError:
        raise
    except UnexpectedError as problem:
        raise RequestError(
            "{file} cannot be imported: in {part}, {reason}.",
            file=file,
            part=part,
            reason=problem.reason,
        ) from problem
    except OSError as problem:
        raise RequestError(
            "{file} cannot be imported: {part} cannot be read ({reason}).",
            file=file,
            part=part,
            reason=file_reason(problem),
        ) from problem
    except DAMAGE as problem:
        raise RequestError(
            "{file} cannot be imported: {part} is damaged ({reason}).",
            file=file,
            part=part,
            reason=file_reason(problem),
        ) from problem
