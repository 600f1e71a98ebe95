"""A stand-in for a Discourse forum, and a receiver of webhooks; both on loopback, both for one use."""

from sandbox.discourse.forum import Forum, Topic
from sandbox.discourse.receiver import Receiver, run_receiver
from sandbox.discourse.server import DiscourseServer, run_discourse
from sandbox.discourse.serving import Fault, Reply, Seen

__all__ = [
    "DiscourseServer",
    "Fault",
    "Forum",
    "Receiver",
    "Reply",
    "Seen",
    "Topic",
    "run_discourse",
    "run_receiver",
]
