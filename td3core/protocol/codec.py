"""Events and requests of a run as lines of JSON."""

from typing import get_args

from td3core.protocol.events import Event
from td3core.protocol.steering import Ask, Tune
from td3core.system.json_lines import Codec

KINDS: tuple[type, ...] = (*get_args(Event), Ask, Tune)
"""What a run and those who follow or steer it send each other."""

RUN = Codec(*KINDS)
