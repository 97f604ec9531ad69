"""LangGraph: a graph that goes round n times, each time saved by its SQLite saver before the next begins."""

from __future__ import annotations

import sqlite3
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from runner import play


class State(TypedDict):
    left: int


def prepare(url: str):  # type: ignore[no-untyped-def]
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), check_same_thread=False)
    builder = StateGraph(State)
    builder.add_node("step", lambda state: {"left": state["left"] - 1})
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda state: "step" if state["left"] else END)
    graph = builder.compile(checkpointer=SqliteSaver(connection))

    def run(name: str, steps: int) -> None:
        graph.invoke({"left": steps}, {"configurable": {"thread_id": name}, "recursion_limit": steps + 2}, durability="sync")

    return run


play(prepare)
