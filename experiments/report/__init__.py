"""From finished cells to pictures and one page: averages, chapters, and the report of a comparison."""
