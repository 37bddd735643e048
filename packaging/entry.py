"""What the frozen program starts with; `app/` itself must not be on the path of imports."""

import sys

from app.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
