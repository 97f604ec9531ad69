"""What an agent knows and keeps while it works. Read in this order: state, patch, states, context, artifacts, journal, model, script,
conversation, history, arguments, tools, approval, calls, observe, budget, sent, turn, loop.
"""
