"""One command per verb: each takes the world and a request, and answers with an outcome to be shown."""
