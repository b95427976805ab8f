"""The real `pulumi`, found or built."""
