"""A lab as its teacher states it: read from its source, checked, and released to students."""
