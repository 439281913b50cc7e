"""Checks a built program: hardened, and linked with what its bill of materials lists.

Usage: release_test.py PATH_OF_NF4BENCH PATH_OF_SPDX_JSON
"""

import datetime
import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SBOM = pathlib.Path(sys.argv.pop(2))
BINARY = sys.argv.pop(1)

# Which package of the bill of materials a shared library is from.
PACKAGE_OF = {"libcrypto": "openssl-libcrypto", "libhwy": "highway", "libfmt": "fmt",
              "libzip": "libzip",
              "libgomp": "libgomp", "libomp": "libomp", "libstdc++": "libstdc++",
              "libgcc_s": "libgcc", "libm": "glibc", "libc": "glibc", "ld-linux-x86-64": "glibc",
              "ld-linux-aarch64": "glibc"}


def readelf(*options):
    result = subprocess.run(["readelf", "--wide", *options, BINARY], capture_output=True, text=True,
                            check=True)
    return result.stdout


class Hardening(unittest.TestCase):
    def test_the_program_is_position_independent(self):
        self.assertRegex(readelf("--file-header"), r"Type:\s+DYN")
        self.assertRegex(readelf("--dynamic"), r"FLAGS_1.*\bPIE\b")

    def test_relocations_are_bound_at_start_and_then_read_only(self):
        self.assertIn("GNU_RELRO", readelf("--program-headers"))
        self.assertRegex(readelf("--dynamic"), r"FLAGS_1.*\bNOW\b")

    def test_the_stack_is_protected_and_not_executable(self):
        self.assertIn("__stack_chk_fail", readelf("--dyn-syms"))
        stack = re.search(r"GNU_STACK.*", readelf("--program-headers"))
        self.assertIsNotNone(stack)
        self.assertNotIn("E", stack[0].replace("GNU_STACK", ""))

    def test_calls_of_libc_are_checked(self):
        self.assertRegex(readelf("--dyn-syms"), r"__\w+_chk@")
        self.assertIn("__glibcxx_assert_fail", readelf("--symbols"))

    def test_no_library_is_searched_in_a_path_of_this_machine(self):
        self.assertNotRegex(readelf("--dynamic"), r"\((RPATH|RUNPATH)\)")


class BillOfMaterials(unittest.TestCase):
    def setUp(self):
        self.sbom = json.loads(SBOM.read_text(encoding="utf-8"))
        self.packages = {package["name"]: package for package in self.sbom["packages"]}

    def related(self, relationship):
        names = {package["SPDXID"]: name for name, package in self.packages.items()}
        return {names[entry["relatedSpdxElement"]] for entry in self.sbom["relationships"]
                if entry["relationshipType"] == relationship}

    def test_lists_every_shared_library_and_no_other(self):
        needed = re.findall(r"\(NEEDED\).*\[([^\]]+)\]", readelf("--dynamic"))
        self.assertGreater(len(needed), 3)
        linked = {PACKAGE_OF[library.split(".so")[0]] for library in needed}
        self.assertEqual(linked, self.related("DYNAMIC_LINK"))

    def test_gives_every_package_a_version_and_a_licence(self):
        for name, package in self.packages.items():
            with self.subTest(name):
                self.assertRegex(package["versionInfo"], r"^(NOASSERTION|\d+(\.\d+)+\w*)$")
                if name != "nf4bench":
                    self.assertNotIn(package["licenseDeclared"], ("", "NOASSERTION"))

    def test_stands_with_its_licence_in_third_party_md(self):
        lines = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8").splitlines()
        self.packages.pop("nf4bench")
        for name, package in self.packages.items():
            with self.subTest(name):
                rows = [line for line in lines if line.startswith("|") and name in line.split("|")[1]]
                self.assertEqual(len(rows), 1)
                self.assertIn(package["licenseDeclared"], rows[0])

    def test_is_a_document_of_spdx_2_3(self):
        self.assertEqual(self.sbom["spdxVersion"], "SPDX-2.3")
        self.assertEqual(self.sbom["dataLicense"], "CC0-1.0")
        self.assertEqual(self.related("DESCRIBES"), {"nf4bench"})
        self.assertTrue(self.sbom["documentNamespace"].startswith("urn:uuid:"))
        datetime.datetime.strptime(self.sbom["creationInfo"]["created"], "%Y-%m-%dT%H:%M:%SZ")
        for package in self.packages.values():
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")

    def test_is_taken_by_the_reference_validator(self):
        try:
            from spdx_tools.spdx.parser.parse_anything import parse_file
            from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
        except ImportError:
            self.skipTest("needs spdx-tools")
        self.assertEqual(validate_full_spdx_document(parse_file(str(SBOM))), [])


if __name__ == "__main__":
    unittest.main()
