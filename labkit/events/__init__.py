"""What happened to tasks, for whoever wants to know. Read in this order: event, subscription, bus."""

from labkit.events.bus import EventBus
from labkit.events.event import COMPLETED, LOST, WAITING, Event
from labkit.events.subscription import Subscription

__all__ = ["COMPLETED", "LOST", "WAITING", "Event", "EventBus", "Subscription"]
