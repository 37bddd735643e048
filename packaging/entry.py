"""What the frozen program starts with; `app/` itself must not be on the path of imports."""

import os
import sys

# Qt finds its own files by `qt.conf` beside the program. PySide would write the folder's name into
# such a file in memory, where a comma in the name ends it.
os.environ.setdefault("PYSIDE_DISABLE_INTERNAL_QT_CONF", "1")

from app.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
