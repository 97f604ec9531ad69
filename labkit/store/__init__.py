"""Where tasks are kept. Read in this order: the contract, memory, a JSON file, SQL."""

from labkit.store.contract import StateStore
from labkit.store.json_file import JsonFileStore
from labkit.store.memory import MemoryStore
from labkit.store.sql import SqlStore

__all__ = ["JsonFileStore", "MemoryStore", "SqlStore", "StateStore"]
