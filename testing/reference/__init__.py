"""Makes the pages of docs/reference from the tables (*.def) of the sources: see pages.py."""
