"""Software for hosts: resolved once on the operator's machine, kept by content, brought to hosts over SSH."""
