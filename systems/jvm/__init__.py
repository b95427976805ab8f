"""The load tools that the systems themselves come with, run on a client host as a second opinion on our own figures."""
