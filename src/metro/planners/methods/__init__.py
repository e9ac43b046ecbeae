"""Planning methods: one file per method, found by `metro.planners.methods.registry`."""
