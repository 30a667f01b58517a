"""Does nothing wrong."""

print("good")
