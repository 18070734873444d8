"""Push: read a user turn, decide, and put one to three skills, or nothing, into the request."""
