# Writes nf4bench.spdx.json into the build tree: what the program is made of and linked with, by
# name, version and licence, in SPDX 2.3 (spdx.github.io/spdx-spec/v2.3). Installed with the program.
# SOURCE_DATE_EPOCH sets its time, as for every reproducible build.

set(sbom_packages "[]")
set(sbom_relationships "[]")

# sbom_append(LIST_VARIABLE ENTRY): adds ENTRY, a JSON object, to a JSON array.
function(sbom_append list entry)
  string(JSON length LENGTH "${${list}}")
  string(JSON longer SET "${${list}}" ${length} "${entry}")
  set(${list} "${longer}" PARENT_SCOPE)
endfunction()

# sbom_package(NAME VERSION LICENCE RELATIONSHIP): one package. LICENCE is an SPDX expression,
# RELATIONSHIP is how the program uses it: STATIC_LINK (also for headers) or DYNAMIC_LINK.
macro(sbom_package name version licence relationship)
  string(REGEX REPLACE "[^A-Za-z0-9.]" "-" sbom_id "${name}")
  sbom_append(sbom_packages "{\"SPDXID\": \"SPDXRef-${sbom_id}\", \"name\": \"${name}\",
    \"versionInfo\": \"${version}\", \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false,
    \"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": \"${licence}\",
    \"copyrightText\": \"NOASSERTION\"}")
  sbom_append(sbom_relationships "{\"spdxElementId\": \"SPDXRef-nf4bench\",
    \"relationshipType\": \"${relationship}\", \"relatedSpdxElement\": \"SPDXRef-${sbom_id}\"}")
endmacro()

sbom_append(sbom_packages "{\"SPDXID\": \"SPDXRef-nf4bench\", \"name\": \"nf4bench\",
  \"versionInfo\": \"${PROJECT_VERSION}\", \"downloadLocation\": \"NOASSERTION\",
  \"filesAnalyzed\": false, \"licenseConcluded\": \"NOASSERTION\",
  \"licenseDeclared\": \"NOASSERTION\", \"copyrightText\": \"NOASSERTION\"}")
sbom_append(sbom_relationships "{\"spdxElementId\": \"SPDXRef-DOCUMENT\",
  \"relationshipType\": \"DESCRIBES\", \"relatedSpdxElement\": \"SPDXRef-nf4bench\"}")

set(gcc_licence "GPL-3.0-or-later WITH GCC-exception-3.1")
execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE libc_version ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX REPLACE "^glibc " "" libc_version "${libc_version}")
sbom_package("CLI11" "${CLI11_VERSION}" "BSD-3-Clause" STATIC_LINK)
sbom_package("nlohmann-json" "${nlohmann_json_VERSION}" "MIT" STATIC_LINK)
set(toml_version "")
file(GLOB toml_file ${NF4BENCH_TOML_INCLUDE}/toml++/impl/version.h*)  # .hpp from 3.4 on
foreach(part MAJOR MINOR PATCH)
  file(STRINGS "${toml_file}" line REGEX "define TOML_LIB_${part}")
  string(REGEX MATCH "[0-9]+" number "${line}")
  list(APPEND toml_version ${number})
endforeach()
list(JOIN toml_version "." toml_version)
sbom_package("tomlplusplus" "${toml_version}" "MIT" STATIC_LINK)
sbom_package("fmt" "${fmt_VERSION}" "MIT" DYNAMIC_LINK)
file(STRINGS ${NF4BENCH_LIBZIP_INCLUDE}/zipconf.h line REGEX "define LIBZIP_VERSION ")
string(REGEX MATCH "[0-9.]+" libzip_version "${line}")
sbom_package("libzip" "${libzip_version}" "BSD-3-Clause" DYNAMIC_LINK)
sbom_package("highway" "${hwy_VERSION}" "Apache-2.0" DYNAMIC_LINK)
sbom_package("openssl-libcrypto" "${OpenSSL_VERSION}" "Apache-2.0" DYNAMIC_LINK)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  sbom_package("libomp" "${CMAKE_CXX_COMPILER_VERSION}" "Apache-2.0 WITH LLVM-exception" DYNAMIC_LINK)
else()
  sbom_package("libgomp" "${CMAKE_CXX_COMPILER_VERSION}" "${gcc_licence}" DYNAMIC_LINK)
endif()
# The system's library may be newer than the compiler's, but no file says so before the program runs.
sbom_package("libstdc++" "NOASSERTION" "${gcc_licence}" DYNAMIC_LINK)
sbom_package("libgcc" "NOASSERTION" "${gcc_licence}" DYNAMIC_LINK)
sbom_package("glibc" "${libc_version}" "LGPL-2.1-or-later" DYNAMIC_LINK)
if(NF4BENCH_WITH_CUDA)
  sbom_package("cuda-runtime" "${CUDAToolkit_VERSION}" "LicenseRef-CUDA-EULA" STATIC_LINK)
endif()

string(TIMESTAMP sbom_time UTC)
string(UUID sbom_uuid NAMESPACE 6ba7b811-9dad-11d1-80b4-00c04fd430c8 TYPE SHA1
       NAME "nf4bench ${PROJECT_VERSION} ${sbom_time} ${sbom_packages}")
set(sbom "{\"spdxVersion\": \"SPDX-2.3\", \"dataLicense\": \"CC0-1.0\",
  \"SPDXID\": \"SPDXRef-DOCUMENT\", \"name\": \"nf4bench-${PROJECT_VERSION}\",
  \"documentNamespace\": \"urn:uuid:${sbom_uuid}\",
  \"creationInfo\": {\"created\": \"${sbom_time}\", \"creators\": [\"Tool: nf4bench-build\"]}}")
string(JSON sbom SET "${sbom}" packages "${sbom_packages}")
string(JSON sbom SET "${sbom}" relationships "${sbom_relationships}")
if(NF4BENCH_WITH_CUDA)
  string(JSON sbom SET "${sbom}" hasExtractedLicensingInfos
    "[{\"licenseId\": \"LicenseRef-CUDA-EULA\", \"name\": \"NVIDIA CUDA Toolkit EULA\",
       \"extractedText\": \"https://docs.nvidia.com/cuda/eula/\"}]")
endif()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/nf4bench.spdx.json CONTENT "${sbom}\n" @ONLY)

include(GNUInstallDirs)
install(FILES ${PROJECT_BINARY_DIR}/nf4bench.spdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR})
