"""A checkpoint cannot bring the consent to the code it names."""

import json
from pathlib import Path

import pytest

from td3core.checkpoint import format as files
from td3core.errors import RequestError
from td3core.system import allowed_code
from tests.td3core.helpers import make_header, write_checkpoint

ENV = "theirs_env:Slide"


def test_a_checkpoint_that_claims_a_consent_is_refused(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "a.safetensors")
    meaning = files._metadata(make_header(path, env=ENV))
    assert "consent" not in json.dumps(meaning)
    for forged in ({"allowed": [["theirs_env", "/"]]}, None):
        meaning["env"]["consent"] = forged
        with pytest.raises(RequestError, match="damaged description"):
            files._header(path, {files._KEY: json.dumps(meaning)})
    assert allowed_code.snapshot() == set()
