"""Coaching that takes its time: before a session, behind it, and over several of them."""
