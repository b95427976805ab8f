"""What several rooms have to agree on, described once. Standard library only: workers on client hosts have nothing else."""
