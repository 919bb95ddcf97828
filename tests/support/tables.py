"""Columns of tables that tests write by hand."""

PLAIN_EVALUATION = (
    *("env_steps", "mean", "std", "success", "best", "returns", "lengths", "seed", "time_s"),
)
"""Of evaluations that measured returns alone."""
