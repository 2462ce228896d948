"""`python -m abi`, for where the command is not on the path."""

import sys

from abi.cli.main import main

sys.exit(main())
