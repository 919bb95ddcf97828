"""How healthy a run is: its quantities, what they advise, and trying that out."""
