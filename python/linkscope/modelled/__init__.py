"""Machine models on a virtual clock: what each case of a plan would give by published values; nothing is measured."""
