"""Questions to the coach: what is asked, which facts answer it, and how that is said."""
