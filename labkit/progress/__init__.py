"""What a task tells while it runs, and the log in which that is kept. Read in this order: update, log."""

from labkit.progress.log import ProgressLog
from labkit.progress.update import ProgressUpdate

__all__ = ["ProgressLog", "ProgressUpdate"]
