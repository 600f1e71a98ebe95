"""python.org's release database over its API, second version: reads by exact filters, one write at a time.

What the server is known to do decides much here. A wrong scheme, or a user who is not staff, is no error
on reads: drafts only look absent, so staff is checked first. A filter that is not understood gives every
row, so each row that comes is checked. A 500 may come after the write was made. The first version is used
for one thing: a row beside a download button, which the second refuses (encode/django-rest-framework#9358).
Nothing here deletes a release or an operating system.
"""

from publisher.adapters.release_db.client import ReleaseDb

__all__ = ["ReleaseDb"]
