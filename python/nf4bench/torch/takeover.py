"""How functions, methods and entries of tables are replaced and put back, also in modules yet to be imported."""

import importlib.machinery
import logging
import os
import sys

LOG = logging.getLogger("nf4bench")

taken = []  # what was taken over, in words
refused = []  # what was not, and why
awaited = []  # modules that are taken over once they are imported
undo = []  # what takes it all back
devices = set()  # types of devices whose tensors are ours


def put_back():
    for each in reversed(undo):
        each()
    for state in (undo, taken, refused, awaited, devices):
        state.clear()


_leavable = set()  # names that were asked for


def _left():
    return set(os.environ.get("NF4_LEAVE", "").lower().replace(" ", "").split(",")) - {""}


def is_left(name):
    """Whether NF4_LEAVE in the environment, a list with commas, keeps this package away from `name`."""
    _leavable.add(name)
    if name not in _left():
        return False
    why = f"{name}: NF4_LEAVE names it"
    if why not in refused:  # a package may have several places
        refused.append(why)
    return True


def warn_of_unknown():
    """To be called once all names were asked for."""
    unknown = sorted(_left() - _leavable)
    if unknown:
        LOG.warning("NF4_LEAVE names %s, and knows only %s", ", ".join(unknown), ", ".join(sorted(_leavable)))


def may_replace(what, original, strange):
    """Whether there is an original, which is none that is strange."""
    why = "there is none" if original is None else strange(original)
    if why:
        refused.append(f"{what}: {why}")
    return not why


def _dress(ours, original):
    ours.__name__, ours.__qualname__, ours.__doc__ = original.__name__, original.__qualname__, original.__doc__
    ours.__module__, ours.__wrapped__ = original.__module__, original
    return ours


def replace(module, name, make, strange):
    """Replaces a function of a module by make(original), wherever it was imported to."""
    original = getattr(module, name, None)
    if not may_replace(f"{module.__name__}.{name}", original, strange):
        return
    ours = _dress(make(original), original)
    rebind(name, original, ours)
    undo.append(lambda: rebind(name, ours, original))
    taken.append(f"{module.__name__}.{name}")


def rebind(name, old, new):
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get(name) is old:
            setattr(module, name, new)


def replace_method(owner, name, make, strange, what=None):
    """Replaces a method of a class by make(original)."""
    what = what or f"{owner.__module__}.{owner.__name__}.{name}"
    original = vars(owner).get(name)
    if not may_replace(what, original, strange):
        return
    ours = _dress(make(original), original)
    setattr(owner, name, ours)
    # Whoever has replaced it since keeps what is there.
    undo.append(lambda: vars(owner).get(name) is ours and setattr(owner, name, original))
    taken.append(what)


def after_import(name, take):
    """Calls `take` with a module now, or once it is imported."""
    if name in sys.modules:
        _take(name, take)
        return
    finder = _AfterImport(name, take)
    sys.meta_path.insert(0, finder)
    awaited.append(name)
    undo.append(lambda: finder in sys.meta_path and sys.meta_path.remove(finder))


def _take(name, take):
    try:
        take(sys.modules[name])
    except Exception as error:  # an import must not fail because of this package
        refused.append(f"{name}: {error}")
        LOG.warning("nf4bench leaves %s as it is: %s", name, error)


class _AfterImport:
    """An importer that finds nothing itself, and takes over one module once that is loaded."""

    def __init__(self, name, take):
        self.name, self.take = name, take

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            if self not in sys.meta_path:  # taken back meanwhile
                return
            sys.meta_path.remove(self)
            before = len(taken)
            awaited.remove(self.name)
            _take(self.name, self.take)
            LOG.info("nf4bench has taken over: %s", ", ".join(taken[before:]) or "nothing")

        spec.loader.exec_module = exec_module
        return spec
