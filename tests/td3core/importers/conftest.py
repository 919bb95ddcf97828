"""Files of other programs, each written once by that program or as it writes them."""

from pathlib import Path

import pytest

from tests.td3core.importers import foreign_files


@pytest.fixture(scope="session")
def peers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the zips that stable-baselines3 saved, by kind of agent."""
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    return foreign_files.Peers(tmp_path_factory.mktemp("peers"))


@pytest.fixture(scope="session")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of RL Zoo whose observations and rewards were normalised."""
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    return foreign_files.write_zoo(tmp_path_factory.mktemp("zoo"))


@pytest.fixture
def cleanrl(tmp_path: Path) -> Path:
    """Return the file of an agent of CleanRL."""
    return foreign_files.write_cleanrl(tmp_path)


@pytest.fixture
def authors(tmp_path: Path) -> Path:
    """Return the common name of the four files of an agent of sfujim/TD3."""
    return foreign_files.write_authors(tmp_path)
