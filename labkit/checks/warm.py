"""Imports what every check needs, for the warm parent of the checks' children: a fork of it starts with all of this in memory.

Not handled here: anything else.
"""

from __future__ import annotations

import sqlalchemy.dialects.sqlite

from labkit.checks import registry

EXERCISES = registry.every()
DIALECT = sqlalchemy.dialects.sqlite.dialect

try:
    import psycopg
    import sqlalchemy.dialects.postgresql.psycopg
except ImportError:  # PostgreSQL is an extra: without it the checks say that it was not exercised
    psycopg = None  # type: ignore[assignment]
