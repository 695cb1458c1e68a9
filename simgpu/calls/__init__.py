"""What a program calls, before torch dispatches it: functions told a device, moves, and those that mix devices."""
