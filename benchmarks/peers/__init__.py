"""Other libraries, each behind the same two methods."""
