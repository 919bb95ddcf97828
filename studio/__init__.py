"""The window of TD3 Studio."""
