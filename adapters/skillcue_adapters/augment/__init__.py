"""Index augmentation: what a skill file says about its use, in more words than its own."""
