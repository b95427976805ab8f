"""What stands in for AWS: a server for its API, and a provider for Pulumi."""
