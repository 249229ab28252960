"""Parts that all masked sums share: arithmetic in Z_{2^b}, masks, and signed keys."""
