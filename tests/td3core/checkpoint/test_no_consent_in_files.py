"""A checkpoint cannot bring consent to the code it names."""

import json
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from td3core import checkpoint
from td3core.errors import RequestError
from td3core.system import allowed_code
from tests.support.damage import KEY
from tests.td3core.helpers import write_checkpoint

ENV = "theirs_env:Slide"


def test_a_checkpoint_that_claims_a_consent_is_refused(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "a.safetensors", env=ENV)
    with safe_open(path, framework="np") as file:
        meaning = json.loads(file.metadata()[KEY])
    assert "consent" not in json.dumps(meaning)
    tensors = load_file(path)
    for forged in ({"allowed": [["theirs_env", "/"]]}, None):
        meaning["env"]["consent"] = forged
        save_file(tensors, path, metadata={KEY: checkpoint.with_digest(meaning, tensors)})
        with pytest.raises(RequestError, match="'consent' is not known here"):
            checkpoint.read_header(path)
    assert allowed_code.snapshot() == set()
