"""What samebox does on AWS beside the Pulumi program: replacement, time to live, cost, sweep, the EMR step."""
