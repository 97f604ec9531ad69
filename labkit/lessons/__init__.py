"""What the lessons run: the story, the troubles that befall it, and each listing of the chapters that a lesson breaks.

Begin with `story`; then there is a module for each lesson that needs one. A listing is broken on purpose where its docstring says so,
and a test keeps it so. `import labkit.lessons` loads nothing but this text.

Not handled here: the cure. That is the library's part (`execution`, `retry`, `deadline`, `store`).
"""
