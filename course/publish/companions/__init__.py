"""Files beside the pages: pure functions from resources to text and bytes."""
