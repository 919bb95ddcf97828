"""Reports: one page about a run, a group, a comparison or a sweep, for mail and print.

Start with ``document.py``, the structure of a report; ``contents.py`` fills it, ``page.py`` and
``printed.py`` write it.
"""
