"""A stand-in on loopback for python.org's release database and the pages made from it.

It answers as the measured contract of the real site says, its traps included. What is left out:
  - v1 creates and deletes file rows and reads everything, but creates and deletes no releases or systems;
    several rows by id, XML and its complete schema are not there either. v2 neither creates nor deletes
    releases' operating systems, and reads JSON only.
  - A quota never comes back by itself; purges are only noted, and no box is built.
  - A slug or URL that another request takes in between is refused by the table (500), as there.
"""

from sandbox.release_db.server import ReleaseDbServer, run_release_db
from sandbox.release_db.values import Entry, Fault, User

__all__ = ["Entry", "Fault", "ReleaseDbServer", "User", "run_release_db"]
