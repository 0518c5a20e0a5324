"""Sources become records: YAML, Markdown, lessons, quizzes and media."""
