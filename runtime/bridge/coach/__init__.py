"""The coach: questions, briefs, debriefs and insights."""
