"""What an agent knows and keeps while it works. Read in this order: state, patch, states, context, artifacts."""
