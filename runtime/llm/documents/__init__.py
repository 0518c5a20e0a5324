"""The document store: chunks of text with their vectors, separate for each tenant, and search."""
