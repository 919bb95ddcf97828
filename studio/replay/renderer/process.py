"""The renderer: a process that plays saved agents and draws pictures.

Most environments draw in pure Python, which would slow down a run in the same process. Neither
torch nor Qt is imported here.
"""

import contextlib
import gc
import traceback

from studio.replay.renderer import protocol
from studio.replay.renderer.camera import Camera
from studio.replay.renderer.clock import HOLD_S, Clock
from studio.replay.renderer.episode import RenderedEpisode
from studio.replay.renderer.frame_sender import FrameSender
from studio.replay.renderer.heartbeat import Heartbeat
from studio.replay.renderer.loaded_agents import LoadedAgents
from studio.replay.renderer.recording import Recording
from studio.replay.renderer.scaling import Picture
from studio.replay.renderer.step_sender import StepSender, sweep
from td3core.envs.rendering import prepare_rendering
from td3core.envs.trust import UntrustedCodeError
from td3core.envs.trust_store import remembered
from td3core.errors import RequestError
from td3core.system import allowed_code, blas
from td3core.system.child_process import LinePipe


def main(pipe: LinePipe, prefix: str, heartbeat: Heartbeat) -> None:
    """Execute the commands from the pipe until it closes or ``Quit`` arrives."""
    prepare_rendering()
    renderer = Renderer(pipe, prefix, heartbeat)
    try:
        # One thread, as in training: same results, and no cores taken from the run.
        with blas.one_thread():
            renderer.serve()
    except (EOFError, ConnectionError):
        return  # The window has ended.
    except Exception as problem:
        text = (f"{type(problem).__name__}: {problem}").splitlines()[0]
        with contextlib.suppress(OSError):
            pipe.send(protocol.Crashed(message=text, details=traceback.format_exc()))
        raise SystemExit(1) from problem
    finally:
        renderer.close()
        pipe.connection.close()


class Renderer:
    """Holds the loaded agent. It reads the pipe between any two steps."""

    def __init__(self, pipe: LinePipe, prefix: str, heartbeat: Heartbeat) -> None:
        self._pipe, self._heartbeat = pipe, heartbeat
        self._out = FrameSender(pipe, prefix)
        self._clock = Clock()
        self._agents: LoadedAgents | None = None
        self._episode: RenderedEpisode | None = None
        self._seed = 0
        self._ticket = 0
        self._load_now: protocol.Load | None = None
        self._load_later: protocol.Load | None = None
        self._rewinding = False
        self._playing = False
        self._steps_wanted = 0
        self._picture_due = False
        self._picture_sent = False
        self._recording = Recording()
        self._past: int | None = None
        """The current step, if it is earlier than the latest one of the episode."""
        self._playback_id = 0
        self._loops = False
        self._step_sender = StepSender()
        self._no_picture = ""
        self._undrawn_sent = False
        self._camera = Camera()

    def serve(self) -> None:
        """Execute commands and play."""
        while True:
            # Commands first, so that only the last of several loads is executed.
            if self._pipe.connection.poll(self._timeout_s()):
                command = self._pipe.receive()
                if isinstance(command, protocol.Quit):
                    return
                self._execute(command)
                continue
            try:
                with self._heartbeat.waiting(loading=self._makes_env):
                    self._advance()
            except RequestError as problem:
                self._unload()
                needs = problem.module if isinstance(problem, UntrustedCodeError) else None
                refusal = protocol.Refused(self._ticket, str(problem), needs)
                self._send(refusal)

    @property
    def _makes_env(self) -> bool:
        """Whether the next action creates an environment, which may import a simulator."""
        over = self._episode is not None and self._episode.step.over
        return self._load_now is not None or self._rewinding or over

    def close(self) -> None:
        """Close the environment and free the shared memory."""
        self._close_episode()
        self._out.close()

    def _timeout_s(self) -> float | None:
        """Return how long to wait for a command; None if there is nothing else to do."""
        if self._load_now or self._rewinding:
            return 0.0
        if self._episode is None:
            return None
        if self._picture_due:
            return 0.0 if self._out.has_room else None
        if self._steps_wanted:
            return 0.0
        return self._clock.wait_s() if self._playing else None

    def _execute(self, command: protocol.Command) -> None:
        match command:
            case protocol.Load(at_episode_end=later) if later and self._episode:
                self._load_later = command
            case protocol.Load():
                self._load_now, self._load_later = command, None
                self._playing = command.playing
            case protocol.Play():
                self._playing = True
                self._clock.restart()
            case protocol.Pause():
                self._playing = False
                # Pictures may have been skipped; the current step must be shown.
                self._picture_due = not self._picture_sent
            case protocol.Step() | protocol.Seek() | protocol.Restart() | protocol.Push():
                self._move(command)
            case protocol.Speed() | protocol.Rate() | protocol.Fit() | protocol.Loop():
                self._adjust(command)
            case protocol.Look() | protocol.MoveCamera() | protocol.Capture():
                self._draw_otherwise(command)
            case protocol.ReleaseSlot(slot=slot):
                self._out.release(slot)
            case protocol.Measure() | protocol.Sweep():
                self._inspect(command)

    def _inspect(self, command: protocol.Measure | protocol.Sweep) -> None:
        match command:
            case protocol.Measure(on=on):
                self._step_sender.switch(on)
                if self._episode is not None:
                    self._send_steps(self._episode)
            case protocol.Sweep():
                self._sweep(command)

    def _sweep(self, wanted: protocol.Sweep) -> None:
        agents = self._agents
        critic = None if agents is None else agents.critic
        # The agent may have been replaced since the request.
        if agents is None or critic is None or len(wanted.obs) != agents.first.header.env.obs_dim:
            return
        swept = sweep(critic, wanted.obs, wanted.action, wanted.dimension)
        self._send(protocol.Swept(wanted.ticket, wanted.dimension, *swept))

    def _send_steps(self, episode: RenderedEpisode) -> None:
        """Send the numbers of steps that the window does not have yet, if it requested them."""
        assert self._agents is not None
        steps = self._step_sender.unsent(episode.log, self._playback_id, self._agents.critic)
        if steps is not None:
            self._send(steps)

    def _move(
        self, command: protocol.Step | protocol.Seek | protocol.Restart | protocol.Push
    ) -> None:
        match command:
            case protocol.Step(back=back):
                self._playing = False
                move = self._step_back if back else self._step_forward
                move()
            case protocol.Seek(step=step):
                self._seek(step)
                self._clock.restart()
            case protocol.Restart(seed=seed):
                self._seed, self._rewinding = seed, self._agents is not None
            case protocol.Push() if self._agents and self._episode:
                steps = self._agents.push(self._episode.step.number + 1)
                self._send(protocol.Pushed(steps))

    def _adjust(
        self, command: protocol.Speed | protocol.Rate | protocol.Fit | protocol.Loop
    ) -> None:
        match command:
            case protocol.Loop(on=on):
                self._loops = on
            case protocol.Speed(factor=factor):
                self._clock.speed = factor
            case protocol.Rate(most=most):
                self._clock.pictures_per_s = most
            case protocol.Fit():
                self._out.fit(command)
                # A paused picture must be drawn in its new size.
                self._picture_due = self._picture_due or self._picture_sent

    def _advance(self) -> None:
        if self._load_now:
            self._load(self._load_now)
        elif self._rewinding:
            self._steps_wanted = 0
            self._begin_episode(0)
        elif self._picture_due:
            self._show()
        elif self._past is not None:
            self._play_past(self._past)
        elif self._episode and self._episode.step.over:
            self._after_episode(self._episode.index + (not self._loops))
        elif self._episode:
            self._advance_episode(self._episode)

    # The past of the episode ---------------------------------------------------------------------

    def _seek(self, step: int) -> None:
        """Show the last drawn step up to this one."""
        if self._episode is None:
            return
        self._steps_wanted = 0
        kept = self._recording.at(max(step, 0))
        reached = step >= self._episode.step.number or kept is None
        self._past = None if reached or kept is None else kept.step
        self._picture_due = True

    def _step_back(self) -> None:
        if self._episode is not None:
            shown = self._episode.step.number if self._past is None else self._past
            self._seek(shown - 1)

    def _step_forward(self) -> None:
        if self._past is None:
            self._steps_wanted += 1
        else:
            self._show_next(self._past)
            self._picture_due = True

    def _show_next(self, past: int) -> int:
        """Move to the next drawn step; return how many steps ahead it is."""
        assert self._episode is not None
        later, reached = self._recording.after(past), self._episode.step.number
        self._past = later.step if later is not None and later.step < reached else None
        return (reached if self._past is None else self._past) - past

    def _play_past(self, past: int) -> None:
        assert self._episode is not None
        self._clock.tick(self._show_next(past))
        reached = self._past is None
        self._picture_due = reached or (self._out.has_room and self._clock.may_draw())
        if reached and self._episode.step.over:
            self._clock.restart(HOLD_S)

    # Episodes ------------------------------------------------------------------------------------

    def _load(self, load: protocol.Load) -> None:
        self._load_now, self._ticket, self._seed = None, load.ticket, load.seed
        # Never two at once: a second OpenGL renderer in a process may draw black pictures.
        self._close_episode()
        self._steps_wanted, self._undrawn_sent = 0, False
        allowed_code.replace(load.allowed | remembered())
        self._agents = LoadedAgents(load, self._camera)
        self._begin_first_episode()
        assert self._episode is not None
        self._send(self._agents.loaded(load, self._episode, self._no_picture))

    def _begin_first_episode(self) -> None:
        """Begin the first episode; if it cannot be drawn, with numbers but no pictures."""
        self._no_picture = ""
        try:
            self._begin_episode(0)
            assert self._episode is not None
            # Draw before replying: some environments only fail when they draw.
            self._episode.picture()
        except UntrustedCodeError:
            raise
        except RequestError as problem:
            self._no_picture = str(problem)
            # Raises again if the cause was not the drawing.
            self._begin_episode(0)

    def _after_episode(self, index: int) -> None:
        self._steps_wanted = max(0, self._steps_wanted - 1)
        if self._load_later:
            later, self._load_later = self._load_later, None
            self._load(later)
        else:
            self._begin_episode(index)

    def _begin_episode(self, index: int) -> None:
        assert self._agents is not None
        self._rewinding = False
        self._close_episode()
        # A new environment for each episode, as in an evaluation.
        self._episode = self._agents.begin(self._seed, index, draws=not self._no_picture)
        self._step_sender.begin_episode()
        self._clock.fps = self._episode.fps
        self._clock.restart()
        self._picture_due = True
        self._playback_id += 1

    def _advance_episode(self, episode: RenderedEpisode) -> None:
        episode.advance()
        self._picture_sent = False
        if self._steps_wanted:
            self._steps_wanted -= 1
            self._picture_due = True
            return
        self._clock.tick()
        over = episode.step.over
        self._picture_due = over or (self._out.has_room and self._clock.may_draw())
        if over:
            self._clock.restart(HOLD_S)

    def _show(self) -> None:
        episode = self._episode
        assert episode is not None
        began = self._clock.now()
        picture, frame = self._shown(episode)
        self._send_steps(episode)
        assert self._agents is not None
        data = self._step_sender.at(frame.step.number, episode.log, self._agents.critic)
        frame = frame._replace(data=data)
        if self._no_picture:
            self._send(frame)
        else:
            self._out.send_picture(picture, frame)
        self._clock.note_drawn(began)
        self._picture_due, self._picture_sent = False, True

    def _shown(self, episode: RenderedEpisode) -> tuple[Picture, protocol.Frame]:
        """Return the picture to show, in the environment's size, with its numbers."""
        reached = episode.step.number, episode.step.over
        kept = None if self._past is None else self._recording.at(self._past)
        if kept is not None:
            return kept.picture(), kept.frame._replace(latest=reached[0], complete=reached[1])
        frame = protocol.Frame(
            episode=episode.index,
            step=episode.step,
            playback_id=self._playback_id,
            latest=reached[0],
            complete=reached[1],
            steps=episode.steps,
        )
        picture = episode.picture()
        if episode.undrawn and not self._undrawn_sent:
            self._send(protocol.Undrawn(episode.undrawn))
            self._undrawn_sent = True
        self._recording.add(picture, frame)
        return picture, frame

    def _draw_otherwise(
        self, command: protocol.Look | protocol.MoveCamera | protocol.Capture
    ) -> None:
        """Draw in the environment's own size, or with another camera from the current step on."""
        episode = self._episode
        match command:
            case protocol.Look(camera=camera):
                self._camera.reset(camera)
            case protocol.MoveCamera() if episode is not None and not self._no_picture:
                episode.move_camera(command)
            case protocol.Capture() if episode is not None:
                self._out.send_capture(*self._shown(episode))
                return
        if episode is not None:
            episode.redraw()
            self._picture_due = self._picture_due or self._picture_sent

    def _unload(self) -> None:
        self._close_episode()
        self._agents, self._load_later = None, None
        self._playing, self._rewinding, self._steps_wanted = False, False, 0

    def _close_episode(self) -> None:
        if self._episode is not None:
            episode, self._episode = self._episode, None
            episode.close()
            del episode
            # Environments have reference cycles, which would keep pictures for dozens of episodes.
            gc.collect()
        self._picture_due = self._picture_sent = False
        self._past = None
        self._recording.clear()

    def _send(self, reply: protocol.Reply) -> None:
        self._out.send(reply)
