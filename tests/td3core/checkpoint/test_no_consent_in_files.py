"""A file cannot bring the consent to the code it names."""

import json
from pathlib import Path

import pytest

from td3core.checkpoint import format as files
from td3core.checkpoint import read_header
from td3core.config.consent import NO_CONSENT, Consent
from td3core.errors import RequestError
from tests.td3core.helpers import make_header, write_checkpoint

ENV = "theirs_env:Slide"


def test_a_consent_is_neither_written_nor_read(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "a.safetensors")
    header = make_header(path, env=ENV)
    object.__setattr__(header.env, "consent", Consent(frozenset({("theirs_env", "/")})))
    meaning = files._metadata(header)
    assert "consent" not in json.dumps(meaning)
    assert read_header(path).env.choice.consent == NO_CONSENT
    for forged in ({"allowed": [["theirs_env", "/"]]}, None):
        meaning["env"]["consent"] = forged
        with pytest.raises(RequestError, match="damaged description"):
            files._header(path, {files._KEY: json.dumps(meaning)})
