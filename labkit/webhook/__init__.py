"""Tell another system how a task ended, by HTTP. Read in this order: public, address, wire, send, outbox, prune, deliver."""

from labkit.webhook.address import check_url
from labkit.webhook.deliver import Deliverer, start
from labkit.webhook.outbox import Delivery, deliveries
from labkit.webhook.prune import Keep, prune
from labkit.webhook.send import Answer, Sender, through, verify
from labkit.webhook.wire import PinnedPost

__all__ = ["Answer", "Deliverer", "Delivery", "Keep", "PinnedPost", "Sender", "check_url", "deliveries", "prune", "start", "through", "verify"]
