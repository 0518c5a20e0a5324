"""Install model files in the models folder: ``python -m runtime.llm pull``."""
