"""Graphics of simulators, chosen before they are imported."""
