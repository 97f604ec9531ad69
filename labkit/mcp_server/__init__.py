"""Shared state for agents that speak the Model Context Protocol. Read in this order: address, tool, watch, answers, server,
unreadable, command.
"""
