"""What the lessons run: the story, the troubles that befall it, and each listing of the chapter that a lesson breaks.

Read in this order: story, task_state, retries. A listing is broken on purpose where its name says so, and a test keeps it so.

Not handled here: the cure. That is the library's part (`execution`, `retry`).
"""

from labkit.lessons import retries, task_state
from labkit.lessons.story import bill, containers, places, reboot

__all__ = ["bill", "containers", "places", "reboot", "retries", "task_state"]
