"""Pictures and one page from finished cells: averages, chapters, and the report of a comparison."""
