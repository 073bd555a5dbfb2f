"""The second home: an Apify Actor. Nothing outside this room imports it."""
