"""Reports: one page about a run, a group, a comparison or a sweep, to be sent and printed.

Start with ``document.py``, what a report is made of; ``contents.py`` fills it, ``page.py`` and
``printed.py`` write it.
"""
