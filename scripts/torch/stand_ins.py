#!/usr/bin/env python3
"""Makes empty stand-ins for the CUDA libraries that PyTorch is linked with and that are not here.

  stand_ins.py TORCH_LIB_FOLDER OUTPUT_FOLDER

The PyTorch of the package index is built for GPUs, and does not load without 3 GB of libraries that it never calls on
a machine without one. A stand-in has their names, and every function of it answers that there is no GPU.
"""

import collections
import pathlib
import re
import subprocess
import sys


NO_DEVICE = 100  # cudaErrorNoDevice


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wanted(folder):
    """library -> version -> functions: what is needed of libraries from NVIDIA; version "" for none."""
    plain = set()
    libraries = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in folder.glob("*.so*"):
        for name in re.findall(r"\(NEEDED\).*\[(lib(?:cu|nv|nccl)[^]]*)\]", output_of("readelf", "-dW", path)):
            libraries[name]  # also one of which no function has a version
        library_of = {}
        for library, version in re.findall(r"File: (\S+)|Name: (\S+) +Flags", output_of("readelf", "-VW", path)):
            if library:
                current = library
            else:
                library_of[version] = current
        for function, version in re.findall(r" U (\w+)(?:@(\S+))?$", output_of("nm", "-D", path), re.MULTILINE):
            if library_of.get(version) in libraries:
                libraries[library_of[version]][version].add(function)
            elif not version and re.match("cu|nccl|nv", function):
                plain.add(function)
    libraries.pop("libcuda.so.1", None)  # of the driver: PyTorch opens it by itself, where it is
    for versions in libraries.values():
        if not versions:
            versions[""] = plain  # of which library each is, nobody says
    return libraries


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    for name, versions in wanted(source).items():
        code, script = "", ""
        for version, functions in versions.items():
            code += "".join(f"long {each}(void) {{ return {NO_DEVICE}; }}\n" for each in sorted(functions))
            script += f"{version} {{ global: {'; '.join(sorted(functions))}; }};\n"
        map_file = target / f"{name}.map"
        map_file.write_text(script)
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-fno-builtin", "-x", "c", "-", f"-Wl,-soname,{name}",
                        f"-Wl,--version-script={map_file}", "-o", target / name], input=code, text=True, check=True)
        map_file.unlink()


if __name__ == "__main__":
    main()
