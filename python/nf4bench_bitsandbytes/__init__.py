"""What bitsandbytes calls when it is imported. It must come from here as well: nothing may keep it from that.

So nothing is imported before activate() runs, and nothing but the package beside this one is: a script's
own nf4bench.py would be run otherwise.
"""


def is_disabled():
    """Whether NF4_DISABLE in the environment keeps this package away from bitsandbytes."""
    import os
    return os.environ.get("NF4_DISABLE", "").strip().lower() not in ("", "0", "false", "no", "off")


def activate():
    """Puts libnf4 under bitsandbytes. Never raises: what is in the way is a warning of the logger nf4bench."""
    try:
        if not is_disabled():
            _check_package()
            import nf4bench.torch
            nf4bench.torch.activate()
    except Exception as error:
        import logging
        logging.getLogger("nf4bench").warning("nf4bench leaves bitsandbytes as it is: %s: %s", type(error).__name__,
                                              error)


def _check_package():
    import importlib.util
    import os
    found = importlib.util.find_spec("nf4bench")
    own = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "nf4bench", "__init__.py")
    if found is None or not found.origin or not os.path.samefile(found.origin, own):
        raise ImportError(f"nf4bench is {found and found.origin}, and not {own}")
