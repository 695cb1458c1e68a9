"""Calls of a program before torch dispatches them: functions with a `device`, moves, functions that mix devices."""
