"""Events and requests of a run as lines of JSON."""

from typing import get_args

from td3core.protocol.events import Event
from td3core.protocol.steering import Ask, Tune
from td3core.system.json_lines import Codec

KINDS: tuple[type, ...] = (*get_args(Event), Ask, Tune)
"""Types of the messages between a run and the processes that follow or steer it."""

RUN = Codec(*KINDS)
