"""A small document of one campaign's report, or of imported results, for a site that shows many of them.

Reports may be anybody's: what hasn't the shape that a report has is refused in a sentence, and every text is cut to a length.
"""
