"""What a task tells while it runs, and the log in which that is kept. Read in this order: update, log, follow."""

from labkit.progress.follow import Follower
from labkit.progress.log import ProgressLog
from labkit.progress.update import ProgressUpdate

__all__ = ["Follower", "ProgressLog", "ProgressUpdate"]
