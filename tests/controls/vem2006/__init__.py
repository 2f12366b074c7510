"""Controls of vem2006's claims."""
