"""Snapshots of tasks to go on from. Read in this order: data, store, manager."""

from labkit.checkpoint.data import Checkpoint, task_from_data
from labkit.checkpoint.manager import CheckpointManager
from labkit.checkpoint.store import CheckpointStore

__all__ = ["Checkpoint", "CheckpointManager", "CheckpointStore", "task_from_data"]
