"""AWS on this machine: a cloud whose instances are hosts here, and the engine that stands them up."""
