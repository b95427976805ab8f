"""What systems on Java share: their processes, flags, configuration files, class data, load tools."""
