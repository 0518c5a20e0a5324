"""Records become the files of the site."""
