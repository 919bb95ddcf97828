"""The two ways a run can go wrong, told apart because the user's next step differs."""


class RequestError(ValueError):
    """What was asked cannot be done: one plain sentence, nothing started, nothing written."""


def brief(problem: object, most: int = 200) -> str:
    """Return what is said of a problem, or any text, on one line of no more than a few words."""
    text = " ".join(str(problem).split())
    return text if len(text) <= most else f"{text[:most]}…"


class RunError(RuntimeError):
    """A run that had started cannot go on: one plain sentence naming the cause and the step."""
