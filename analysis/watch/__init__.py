"""A series of versions against one anchor: where its level changes, and whether new blocks confirm it. docs/watch.md has the rule."""
