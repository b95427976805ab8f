"""What a stack would meet on AWS, looked at before anything is paid. It creates nothing; every call is free."""
