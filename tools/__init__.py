"""What maintainers of the project run; no part of the publisher."""
