"""Statistics over several finished or growing runs. Reads tables; neither trains nor draws.

Start with ``comparison.py``; the formulas are in ``aggregate.py``.
"""
