"""What is true: the journal of each LARP, the money, the games, and how commands become events."""
