"""What every room stands on: errors, named random streams, gates for arrays, one BLAS thread."""
