"""The document store: chunks of text with their vectors, apart for each tenant, and the search."""
