"""The page that a demo opens with: where everything is, and what to try first."""
