"""Tables as other tools print them, for programs and people that read those."""
