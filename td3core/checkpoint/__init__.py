"""One file, one agent: reading, writing and checking checkpoints.

Start with ``header.py`` for the contents of a checkpoint, then ``format.py`` for its file.
"""

from td3core.checkpoint.format import SUFFIX, load, read_header, save, with_digest
from td3core.checkpoint.header import Checkpoint, Counters, Header, Origin

__all__ = [
    "SUFFIX",
    "Checkpoint",
    "Counters",
    "Header",
    "Origin",
    "load",
    "read_header",
    "save",
    "with_digest",
]
