"""What the keeper of a PostgreSQL world asks the server: which tables there are, and how to read and fill them.

Not handled here: asking it (see `postgres_world`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """What the keeper knows of a table. `columns` can be written, `numbered` ones the database numbers by itself."""

    oid: int
    name: str  # quoted where it must be, as are `columns` and `refers`
    plain: str
    order: str  # its primary key, else all of a row
    columns: list[str]
    numbered: list[str]
    refers: list[str]

    @property
    def read(self) -> str:
        """The statement that gives all rows; like the two below it is one that `prepared` prepares."""
        return f"EXECUTE read_{self.oid}"

    @property
    def as_values(self) -> str:
        """The statement that gives all rows as one text for an INSERT."""
        return f"EXECUTE values_{self.oid}"

    @property
    def empty(self) -> str:
        return f"EXECUTE empty_{self.oid}"

    def prepared(self) -> tuple[str, ...]:
        texts = ", ".join(f"coalesce(quote_literal({column}::text), 'NULL')" for column in self.columns)
        return (
            f"PREPARE read_{self.oid} AS SELECT * FROM {self.name} ORDER BY {self.order}",
            f"PREPARE values_{self.oid} AS SELECT string_agg('(' || concat_ws(', ', {texts}) || ')', ', ') FROM {self.name}",
            f"PREPARE empty_{self.oid} AS DELETE FROM {self.name}",
        )


def prepared(tables: list[Table]) -> list[str]:
    """The statements that prepare what the keeper asks again and again: to plan a statement takes longer than to run it."""
    holding = ", ".join(f"EXISTS (SELECT FROM {table.name})" for table in tables)
    return [
        "DEALLOCATE ALL",
        f"PREPARE stamp AS {STAMP}",
        f"PREPARE sequences AS {SEQUENCES}",
        f"PREPARE holding AS SELECT array[{holding}]::boolean[]",
        *(statement for table in tables for statement in table.prepared()),
    ]


def referred_first(tables: list[Table]) -> list[Table]:
    """The tables in an order in which they can be filled: those that others refer to come first."""
    ordered: list[Table] = []
    while rest := [table for table in tables if table not in ordered]:
        names = {table.name for table in rest}
        free = [t for t in rest if not names & (set(t.refers) - {t.name})]
        ordered += free or rest
    return ordered


# subtle: a sequence is outside of all transactions, so the clock moves also for a transaction that has begun
SHADOW_CLOCK = """
CREATE SCHEMA IF NOT EXISTS sim;
CREATE SEQUENCE IF NOT EXISTS sim.clock MINVALUE -9000000000000000000 START 0;
CREATE OR REPLACE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
  AS $$SELECT timestamptz 'epoch' + last_value * interval '1 microsecond' FROM sim.clock$$;
CREATE OR REPLACE FUNCTION sim.now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT sim.clock_timestamp()'
"""

STAMP = "SELECT count(*), max(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')"

TABLES = """
SELECT c.oid, quote_ident(c.relname), c.relname,
  coalesce((SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY array_position(i.indkey, a.attnum))
    FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
    WHERE i.indrelid = c.oid AND i.indisprimary), quote_ident(c.relname) || '::text'),
  array(SELECT quote_ident(attname) FROM pg_attribute
    WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum),
  array(SELECT a.attname FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = c.oid AND a.attnum > 0
    AND (a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%') ORDER BY a.attnum),
  array(SELECT quote_ident(r.relname) FROM pg_constraint f JOIN pg_class r ON r.oid = f.confrelid
    WHERE f.conrelid = c.oid AND f.contype = 'f')
FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' ORDER BY c.relname
"""

SEQUENCES = """
SELECT format('SELECT setval(%L, %s, %L)', format('public.%I', sequencename),
  coalesce(last_value, start_value), last_value IS NOT NULL)
FROM pg_sequences WHERE schemaname = 'public'
"""

OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND NOT pid = ANY(%s)
"""
