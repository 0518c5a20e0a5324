"""What can be wrong between sources, in templates and in the pages that were made."""
