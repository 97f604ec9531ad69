"""What an agent knows and keeps while it works. Read in this order: state, patch, states, context, artifacts, history, conversation, journal,
model, script, arguments, tools, cloud_tools, approval, part, calls, reader, observe, known, budget, meter, sent, turn, teller, loop.
"""
