"""A LARP weekend played by bots, through the real service over HTTP and by nothing but what it tells them."""
