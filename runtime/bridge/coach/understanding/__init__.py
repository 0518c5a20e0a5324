"""What a question asks for: dangers, names, needs."""
