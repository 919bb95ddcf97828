"""Agents and curves of other programs, read without running anything in their files.

Start with ``registry.py``: one module for each kind of file. ``inert_pickle.py`` reads pickles as
data, ``foreign.py`` defines what a module returns, ``conversion.py`` makes a checkpoint of it.
"""
