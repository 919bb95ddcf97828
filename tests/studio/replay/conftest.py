"""Players and panes that leave nothing behind."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.consent.code_consent import CodeConsent
from studio.replay import checkpoint_model
from studio.replay.pane import ReplayPane
from studio.replay.player import Player
from td3core.envs.info import EnvInfo
from td3core.envs.make import check_env
from td3core.envs.trust import locate
from td3core.envs.trust_store import remember
from tests.studio.replay.scenes import PENDULUM, SCRIPTED, write_agent

Stage = Callable[[str, str], Callable[[str], Path]]


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    return write_agent(tmp_path / "agent.safetensors", check_env(PENDULUM))


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Return a function that writes a module, allows it, and returns a writer of agents for it."""

    def write(module: str, source: str) -> Callable[[str], Path]:
        (tmp_path / f"{module}.py").write_text(source)
        # A spawned process inherits the search path.
        monkeypatch.syspath_prepend(tmp_path)
        found = locate(module)
        assert found is not None
        remember(found)

        def agent_for(name: str) -> Path:
            info = EnvInfo(
                env_id=f"{module}:{name}",
                obs_dim=1,
                act_dim=1,
                action_low=(-1.0,),
                action_high=(1.0,),
                max_episode_steps=None,
                reward_threshold=None,
            )
            return write_agent(tmp_path / f"{name}.safetensors", info)

        return agent_for

    return write


@pytest.fixture
def staged(stage: Stage) -> Callable[[str], Path]:
    """Return a function that writes an agent for one of the scripted environments."""
    return stage("scripted_stage", SCRIPTED)


@pytest.fixture
def player(qtbot: QtBot) -> Iterator[Player]:
    made = Player()
    yield made
    made.close()


@pytest.fixture
def consent(qtbot: QtBot) -> Iterator[CodeConsent]:
    window = QWidget()
    qtbot.addWidget(window)
    made = CodeConsent(window)
    yield made
    made.stop()


@pytest.fixture
def pane(qtbot: QtBot, tmp_path: Path, consent: CodeConsent) -> Iterator[ReplayPane]:
    settings = QSettings(str(tmp_path / "pane.ini"), QSettings.Format.IniFormat)
    settings.setValue("replay/follow_latest", False)
    made = ReplayPane(tmp_path / "runs", consent, settings)
    qtbot.addWidget(made)
    made.resize(300, 560)
    made.show()
    yield made
    made.shutdown()


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the program come with one agent."""
    monkeypatch.setattr(checkpoint_model, "files", lambda _: tmp_path / "resources")
    folder = tmp_path / "resources" / "agents"
    return write_agent(folder / "Pendulum-v1.safetensors", check_env(PENDULUM))
