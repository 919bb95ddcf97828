"""The indexes that Qt passes to item models and delegates."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()
"""The parent of the topmost rows."""
