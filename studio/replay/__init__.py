"""The render pane: saved agents, played in a process of their own."""
