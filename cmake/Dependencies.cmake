# Finds the libraries that the project links. They come from the distribution; when one is missing,
# the error names the command that installs it. Sets NF4BENCH_WITH_CUDA.

function(nf4bench_require package debian_package)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "nf4bench needs ${package}. On Debian or Ubuntu: "
                        "apt-get install ${debian_package}")
  endif()
  set(${package}_FOUND ${${package}_FOUND} PARENT_SCOPE)
  string(TOUPPER ${package} upper)  # FindOpenSSL says OPENSSL_VERSION
  if(NOT ${package}_VERSION)
    set(${package}_VERSION "${${upper}_VERSION}")
  endif()
  set(${package}_VERSION "${${package}_VERSION}" PARENT_SCOPE)
endfunction()

nf4bench_require(CLI11 libcli11-dev)
nf4bench_require(fmt libfmt-dev)
nf4bench_require(nlohmann_json nlohmann-json3-dev)
# toml++: configuration files; headers alone, MIT, packaged by Debian.
find_path(NF4BENCH_TOML_INCLUDE toml++/toml.h)
if(NOT NF4BENCH_TOML_INCLUDE)
  message(FATAL_ERROR "nf4bench needs toml++. On Debian or Ubuntu: apt-get install libtomlplusplus-dev")
endif()
# libzip: .npz archives; BSD-3-Clause, fuzzed by OSS-Fuzz, packaged by Debian. Its CMake package in
# Debian fails without the programs of another package, so the library is found by its files.
find_path(NF4BENCH_LIBZIP_INCLUDE zip.h)
find_library(NF4BENCH_LIBZIP_LIBRARY zip)
if(NOT NF4BENCH_LIBZIP_INCLUDE OR NOT NF4BENCH_LIBZIP_LIBRARY)
  message(FATAL_ERROR "nf4bench needs libzip. On Debian or Ubuntu: apt-get install libzip-dev")
endif()
add_library(libzip::zip UNKNOWN IMPORTED)
set_target_properties(libzip::zip PROPERTIES
                      IMPORTED_LOCATION ${NF4BENCH_LIBZIP_LIBRARY}
                      INTERFACE_INCLUDE_DIRECTORIES ${NF4BENCH_LIBZIP_INCLUDE})
# Highway: portable SIMD with run-time dispatch; Google, Apache-2.0, packaged by Debian.
nf4bench_require(hwy libhwy-dev CONFIG)
# OpenSSL's libcrypto: SHA-256 of inputs; Apache-2.0, in every distribution.
nf4bench_require(OpenSSL libssl-dev COMPONENTS Crypto)
# OpenMP: the CPU variants' threads; part of the compiler.
nf4bench_require(OpenMP libgomp1 COMPONENTS CXX)
nf4bench_require(Threads libc6-dev)
if(NF4BENCH_TESTS)
  # On Debian GoogleMock is a package of its own, which installs GoogleTest too.
  nf4bench_require(GTest libgmock-dev)
  if(NOT TARGET GTest::gmock)
    message(FATAL_ERROR "The tests need GoogleMock. On Debian or Ubuntu: apt-get install libgmock-dev")
  endif()
endif()

# "pip install" compiles for the cards that are there, and where there is none for the CPU: all cards
# together take a quarter of an hour on two cores.
if(DEFINED SKBUILD AND NF4BENCH_CUDA STREQUAL "AUTO" AND NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE cards RESULT_VARIABLE ignored ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+[.][0-9]+" cards "${cards}")
  list(TRANSFORM cards REPLACE "[.]" "")
  list(FILTER cards EXCLUDE REGEX "^([1-6][0-9]|7[0-4])$")
  list(REMOVE_DUPLICATES cards)
  if(cards)
    list(TRANSFORM cards APPEND "-real" OUTPUT_VARIABLE CMAKE_CUDA_ARCHITECTURES)
  else()
    set(NF4BENCH_CUDA OFF)
    message(STATUS "There is no GPU since Turing here, so this is for the CPU. For all GPUs: "
                   "pip install . -C cmake.define.NF4BENCH_CUDA=ON")
  endif()
endif()

set(NF4BENCH_WITH_CUDA OFF)
if(NOT NF4BENCH_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # CMake knows the version only once the language is enabled for architectures that must fit it.
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc_version)
    string(REGEX MATCH "release ([0-9]+[.][0-9]+)" nvcc_version "${nvcc_version}")
    set(nvcc_version "${CMAKE_MATCH_1}")
    if(nvcc_version AND nvcc_version VERSION_LESS 12.5)
      message(FATAL_ERROR "nf4bench needs the CUDA Toolkit 12.5 or later, and ${CMAKE_CUDA_COMPILER} is of "
                          "${nvcc_version}. Put a later one on PATH, or configure with -DNF4BENCH_CUDA=OFF")
    endif()
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      # Turing to Blackwell, and PTX of the last for what comes after. Blackwell needs 12.8.
      set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90-real 100-real 120)
      if(nvcc_version VERSION_LESS 12.8)
        set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90)
      elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64" AND nvcc_version VERSION_GREATER_EQUAL 13.0)
        list(APPEND CMAKE_CUDA_ARCHITECTURES 110-real)  # Thor, which is beside no other processor
      endif()
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(NF4BENCH_WITH_CUDA ON)
  elseif(NF4BENCH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "NF4BENCH_CUDA is ON and there is no nvcc. Install the CUDA Toolkit 12.5 or "
                        "later (developer.nvidia.com/cuda-downloads), put its bin folder on PATH, "
                        "or configure with -DNF4BENCH_CUDA=OFF")
  endif()
endif()
if(NF4BENCH_WITH_CUDA)
  message(STATUS "CUDA device: yes, nvcc ${CMAKE_CUDA_COMPILER_VERSION}, "
                 "architectures ${CMAKE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "CUDA device: no (CPU only)")
endif()
