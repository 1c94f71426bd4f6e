"""What is judged of a table, whoever plays: its shuffle, its payments, its rows."""
