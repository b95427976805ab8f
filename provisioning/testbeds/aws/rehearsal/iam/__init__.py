"""What IAM would answer: a call as questions, and a policy as the answer."""
