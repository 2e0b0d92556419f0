import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "lib")]
sys.dont_write_bytecode = True

import side_by_side  # noqa: E402

for module in ("handlers", "app", "own", "start"):
    __import__(module)

side_by_side.main(threads=2)
