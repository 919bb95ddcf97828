"""Agents and curves of other programs, read without running anything that their files contain.

Start with ``registry.py``: one module for each kind of file. ``inert_pickle.py`` reads pickles as
data, ``foreign.py`` says what a module returns, ``conversion.py`` makes a checkpoint of it.
"""
