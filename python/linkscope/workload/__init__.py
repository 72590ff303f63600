"""What applications send: schedules of messages, from their own formulas or from files that tools leave."""
