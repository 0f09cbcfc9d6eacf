"""Tables of PostgreSQL, ClickHouse and SQLite, counted where they lie."""
