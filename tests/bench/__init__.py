"""What Skuggbok costs, measured beside its peers and beside the limits of the machine. Run by `make bench`."""
