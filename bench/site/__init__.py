"""A folder of pages that shows many bundles: static, complete, and nothing in it that a bundle could run."""
