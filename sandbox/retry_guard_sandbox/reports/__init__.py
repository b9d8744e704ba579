"""Reports: the same rows as a table, as a page, as JUnit."""
