"""Programs of your own beside the servers: `paddock.client` reads and fills a bridge."""
