# wrong: reads the library's own solution from its file
# diagnosed: imports the solution instead of writing it
import pathlib

import labkit.tables
import sys

source = pathlib.Path(sys.modules["labkit"].__file__).with_name("retry.py").read_text()
names = {"__name__": "copied"}
exec(source, names)
execute_with_retry = names["retry"]
