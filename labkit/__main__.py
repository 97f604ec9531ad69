"""`python -m labkit` is `labkit`, for a shell that does not find the command.

Not handled here: anything; see `cli`.
"""

import sys

from labkit.cli import main

sys.exit(main())
