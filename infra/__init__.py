"""The Pulumi program: AWS hosts, results bucket, EMR roles and safety nets. It exports the inventory and runs nothing on a host."""
