"""The program nf4bench: python -m nf4bench"""

import importlib.metadata
import os
import shutil
import sys


def program():
    """The path of the one that was installed with this package, else of the one on PATH, else None."""
    try:
        files = importlib.metadata.files("nf4bench") or ()
    except importlib.metadata.PackageNotFoundError:
        files = ()
    own = [str(each.locate()) for each in files if each.name == "nf4bench"]
    return own[0] if own and os.access(own[0], os.X_OK) else shutil.which("nf4bench")


def main():
    path = program()
    if path is None:
        sys.exit("nf4bench: the program is neither beside this package nor on PATH; pip install . puts it there")
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
