"""How the processes of a run come to life: one file a launcher."""
