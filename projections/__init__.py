"""What one wants to know: balances, statements, pots, tables, as rows that are written with the events."""
