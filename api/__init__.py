"""How one asks: the REST API over HTTP, and the command line."""
