"""Pictures as SVG: nodes, curves and matrices, each a document that needs no style sheet, font or script."""
