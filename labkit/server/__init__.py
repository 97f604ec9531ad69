"""Tasks over HTTP: submit, look, watch, control, and a page that does all of it. Read in this order: tasks, sse, control, guard, app."""
