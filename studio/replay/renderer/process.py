"""The renderer: a process that plays saved agents and draws pictures.

Most environments draw in pure Python, which would slow down a run in the same process. Neither
torch nor Qt is imported here.
"""

import contextlib
import signal
import traceback
from multiprocessing.connection import Connection

from threadpoolctl import threadpool_limits

from studio.replay.renderer import protocol
from studio.replay.renderer.frame_ring import RingWriter
from studio.replay.renderer.measurement import facts_of, last_of, sweep, without_last
from studio.replay.renderer.scaling import fitted
from studio.replay.renderer.stage import HOLD_S, Clock, Episode, LoadedAgent
from td3core.envs.rendering import prepare_rendering
from td3core.envs.trust import UntrustedCodeError
from td3core.envs.trust_store import remembered
from td3core.errors import RequestError


def main(connection: Connection, prefix: str) -> None:
    """Execute the commands from the pipe until it closes or ``Quit`` arrives."""
    prepare_rendering()
    # Ctrl-C in a terminal reaches the whole process group; the window handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    renderer = Renderer(connection, prefix)
    try:
        # One thread, as in training: same results, and no cores taken from the run.
        with threadpool_limits(1, user_api="blas"):
            renderer.serve()
    except (EOFError, ConnectionError):
        return  # The window has ended.
    except Exception as problem:
        text = (f"{type(problem).__name__}: {problem}").splitlines()[0]
        with contextlib.suppress(OSError):
            connection.send(protocol.Crashed(message=text, details=traceback.format_exc()))
        raise SystemExit(1) from problem
    finally:
        renderer.close()
        connection.close()


class Renderer:
    """Holds the loaded agent. It reads the pipe between any two steps."""

    def __init__(self, connection: Connection, prefix: str) -> None:
        self._connection = connection
        self._ring = RingWriter(prefix)
        self._clock = Clock()
        self._agent: LoadedAgent | None = None
        self._episode: Episode | None = None
        self._box: protocol.Fit | None = None
        self._seed = 0
        self._ticket = 0
        self._load_now: protocol.Load | None = None
        self._load_later: protocol.Load | None = None
        self._rewinding = False
        self._playing = False
        self._steps_wanted = 0
        self._picture_due = False
        self._picture_sent = False
        self._measuring = False
        self._measured = 0
        self._serial = 0
        self._no_picture = ""

    def serve(self) -> None:
        """Execute commands and play."""
        while True:
            # Commands first, so that only the last of several loads is executed.
            if self._connection.poll(self._timeout_s()):
                command = self._connection.recv()
                if isinstance(command, protocol.Quit):
                    return
                self._execute(command)
                continue
            try:
                self._advance()
            except RequestError as problem:
                self._unload()
                needs = problem.module if isinstance(problem, UntrustedCodeError) else None
                refusal = protocol.Refused(self._ticket, str(problem), needs)
                self._send(refusal)

    def close(self) -> None:
        """Close the environment and free the shared memory."""
        self._close_episode()
        self._ring.close()

    def _timeout_s(self) -> float | None:
        """Return how long to wait for a command; None if there is nothing else to do."""
        if self._load_now or self._rewinding:
            return 0.0
        if self._episode is None:
            return None
        if self._picture_due:
            return 0.0 if self._ring.has_room else None
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
                # Pictures may have been skipped; the current step has to be shown.
                self._picture_due = not self._picture_sent
            case protocol.Step():
                self._playing = False
                self._steps_wanted += 1
            case protocol.Restart(seed=seed):
                self._seed, self._rewinding = seed, self._agent is not None
            case protocol.Speed() | protocol.Rate() | protocol.Fit():
                self._adjust(command)
            case protocol.ReleaseSlot(slot=slot):
                self._ring.release(slot)
            case protocol.Measure() | protocol.Sweep():
                self._inspect(command)

    def _inspect(self, command: protocol.Measure | protocol.Sweep) -> None:
        match command:
            case protocol.Measure(on=on):
                self._measuring, self._measured = on, 0
                self._send_steps(self._unsent_steps())
            case protocol.Sweep():
                self._sweep(command)

    def _sweep(self, wanted: protocol.Sweep) -> None:
        agent = self._agent
        # The agent may have been replaced since the window has asked.
        if agent is None or agent.critic is None or len(wanted.obs) != agent.header.env.obs_dim:
            return
        swept = sweep(agent.critic, wanted.obs, wanted.action, wanted.dimension)
        self._send(protocol.Swept(wanted.ticket, wanted.dimension, *swept))

    def _unsent_steps(self) -> protocol.Steps | None:
        """Return the steps that the window does not know yet, if it wants to know them."""
        if not self._measuring or self._episode is None or self._agent is None:
            return None
        episode = self._episode
        found = episode.log.after(self._measured, self._serial, self._agent.critic)
        self._measured = episode.moment.step
        return found

    def _shown_step(self, episode: Episode) -> protocol.StepData | None:
        """Return the numbers of the current step, also if it is drawn again."""
        if not self._measuring or self._agent is None:
            return None
        before = episode.moment.step - 1
        found = episode.log.after(before, self._serial, self._agent.critic)
        return None if found is None else last_of(found)

    def _send_steps(self, steps: protocol.Steps | None) -> None:
        if steps is not None:
            self._send(steps)

    def _adjust(self, command: protocol.Speed | protocol.Rate | protocol.Fit) -> None:
        match command:
            case protocol.Speed(factor=factor):
                self._clock.speed = factor
            case protocol.Rate(most=most):
                self._clock.pictures_per_s = most
            case protocol.Fit():
                self._box = command
                # A paused picture has to be drawn in its new size.
                self._picture_due = self._picture_due or self._picture_sent

    def _advance(self) -> None:
        if self._load_now:
            self._load(self._load_now)
        elif self._rewinding:
            self._steps_wanted = 0
            self._begin_episode(0)
        elif self._picture_due:
            self._show()
        elif self._episode and self._episode.moment.over:
            self._after_episode(self._episode.index + 1)
        elif self._episode:
            self._take_step(self._episode)

    def _load(self, load: protocol.Load) -> None:
        self._load_now, self._ticket, self._seed = None, load.ticket, load.seed
        # Never two at once: a second OpenGL renderer in a process may draw black pictures.
        self._close_episode()
        self._steps_wanted = 0
        self._agent = LoadedAgent(load.path, load.consent | remembered())
        self._begin_first_episode()
        header = self._agent.header
        self._send(
            protocol.Loaded(
                ticket=load.ticket,
                path=load.path,
                env_id=self._agent.env_id,
                env_steps=header.counters.env_steps,
                mean_return=header.evaluation.mean if header.evaluation else None,
                facts=facts_of(header, self._agent.critic),
                no_picture=self._no_picture,
            )
        )

    def _begin_first_episode(self) -> None:
        """Begin the first episode; without pictures if there are none but numbers are wanted."""
        self._no_picture = ""
        try:
            self._begin_episode(0)
            assert self._episode is not None
            # Draw before replying: some environments only fail when they draw.
            self._episode.picture()
        except UntrustedCodeError:
            raise
        except RequestError as problem:
            if not self._measuring:
                raise
            self._no_picture = str(problem)
            # Refused again if the cause is another.
            self._begin_episode(0)

    def _after_episode(self, index: int) -> None:
        self._steps_wanted = max(0, self._steps_wanted - 1)
        if self._load_later:
            later, self._load_later = self._load_later, None
            self._load(later)
        else:
            self._begin_episode(index)

    def _begin_episode(self, index: int) -> None:
        assert self._agent is not None
        self._rewinding = False
        self._close_episode()
        # A new environment for each episode, as in an evaluation.
        self._episode = Episode(self._agent, self._seed, index, draws=not self._no_picture)
        self._serial += 1
        self._measured = 0
        self._clock.fps = self._episode.fps
        self._clock.restart()
        self._picture_due = True

    def _take_step(self, episode: Episode) -> None:
        episode.step()
        self._picture_sent = False
        if self._steps_wanted:
            self._steps_wanted -= 1
            self._picture_due = True
            return
        self._clock.tick()
        over = episode.moment.over
        self._picture_due = over or (self._ring.has_room and self._clock.may_draw())
        if over:
            self._clock.restart(HOLD_S)

    def _show(self) -> None:
        episode = self._episode
        assert episode is not None
        began = self._clock.now()
        steps = self._unsent_steps()
        slot, width, height = (-1, 0, 0) if self._no_picture else self._draw(episode)
        self._send_steps(without_last(steps))
        self._send(
            protocol.Frame(
                slot=slot,
                width=width,
                height=height,
                episode=episode.index,
                moment=episode.moment,
                serial=self._serial,
                data=self._shown_step(episode),
            )
        )
        self._clock.note_drawn(began)
        self._picture_due, self._picture_sent = False, True

    def _draw(self, episode: Episode) -> tuple[int, int, int]:
        """Write a picture into a slot; return the slot, and the picture's width and height."""
        picture = episode.picture()
        if self._box is not None:
            picture = fitted(picture, *self._box)
        block = self._ring.fit(picture)
        if block:
            self._send(protocol.Block(name=block))
        height, width, _ = picture.shape
        return self._ring.write(picture), width, height

    def _unload(self) -> None:
        self._close_episode()
        self._agent, self._load_later = None, None
        self._playing, self._rewinding, self._steps_wanted = False, False, 0

    def _close_episode(self) -> None:
        if self._episode is not None:
            episode, self._episode = self._episode, None
            episode.close()
        self._picture_due = self._picture_sent = False

    def _send(self, reply: protocol.Reply) -> None:
        self._connection.send(reply)
