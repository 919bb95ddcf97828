"""Statistics over several finished or growing runs. Reads tables; trains and draws nothing.

Start with ``comparison.py``; the formulas are in ``aggregate.py``.
"""
