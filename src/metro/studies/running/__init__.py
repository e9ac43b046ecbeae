"""Studies that need worlds and models: what runs them and writes their rows."""
