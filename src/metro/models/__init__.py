"""World models: networks, training, and everything that loads a frozen one."""
