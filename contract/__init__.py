"""What several rooms have to agree on. Standard library only: workers on client hosts have nothing else."""
