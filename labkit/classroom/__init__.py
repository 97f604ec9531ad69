"""What an instructor needs: marks in the masters, the release made from them, one normal form for notebooks."""
