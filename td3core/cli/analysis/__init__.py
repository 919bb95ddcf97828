"""Commands that compute something from several runs."""
