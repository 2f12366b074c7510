"""What each verb of studies does."""
