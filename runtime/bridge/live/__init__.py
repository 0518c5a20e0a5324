"""What happens while the car drives: frames from any source to listeners, database and coach."""
