"""Tables of PostgreSQL, ClickHouse and SQLite, counted in the database."""
