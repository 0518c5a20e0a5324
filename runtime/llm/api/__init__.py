"""The HTTP interface of the language-model server: wire models and thin handlers."""
