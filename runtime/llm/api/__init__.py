"""The HTTP face of the language-model server: wire shapes and handlers, thin around the rest."""
