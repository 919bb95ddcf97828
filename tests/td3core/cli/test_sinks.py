"""Live sinks as options: how to add one."""

from pathlib import Path

import pytest
import typer

from td3core.cli import sinks
from td3core.exporters.live.registry import LIVE_SINKS, LiveSink
from td3core.protocol.events import Event


class Heard:
    """A listener that was made of a path."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def report(self, event: Event) -> None:
        """Hear nothing."""

    def idle(self) -> None:
        """Do nothing."""


def test_an_entry_is_an_option_that_opens_its_listener(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    entry = LiveSink(
        name="heard", metavar="FILE", about="Hear the run.", listener=f"{__name__}:Heard"
    )
    monkeypatch.setattr(sinks, "LIVE_SINKS", (*LIVE_SINKS, entry))
    app, found = typer.Typer(), list[sinks.Sinks]()

    @app.command()
    @sinks.with_sinks
    def command(run: str, sinks: sinks.Sinks = sinks.NO_SINKS, steps: int = 0) -> None:
        assert (run, steps) == ("a", 7)
        found.append(sinks)

    app(["a", "--heard", str(tmp_path), "--steps", "7"], standalone_mode=False)
    app(["a", "--steps", "7"], standalone_mode=False)
    (listener,) = sinks.opened(found[0])
    assert isinstance(listener, Heard)
    assert listener.path == tmp_path
    assert not found[1]
    app(["--help"], standalone_mode=False)
    assert "--heard" in (shown := capsys.readouterr().out)
    assert "Hear the run." in shown
