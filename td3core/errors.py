"""The two ways a run can go wrong, told apart because the user's next step differs."""


class RequestError(ValueError):
    """What was asked cannot be done: one plain sentence, nothing started, nothing written."""


class RunError(RuntimeError):
    """A run that had started cannot go on: one plain sentence naming the cause and the step."""
