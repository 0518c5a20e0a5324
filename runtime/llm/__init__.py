"""The on-device language-model server."""
