# nf4bench_flags: what every target of the project compiles and links with.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_STANDARD 17)  # CMake 3.25 knows no CUDA C++20 for recent toolkits
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# A target with the property NF4BENCH_UNOPTIMIZED compiles in less time than it takes to optimize.
set(is_unoptimized $<BOOL:$<TARGET_PROPERTY:NF4BENCH_UNOPTIMIZED>>)
if(NOT NF4BENCH_SANITIZE)
  set(is_unoptimized $<AND:$<CONFIG:Release>,${is_unoptimized}>)
endif()

add_library(nf4bench_flags INTERFACE)
target_compile_options(nf4bench_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                            -ffp-contract=off -fvisibility=hidden>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,${is_unoptimized}>:-O0>
  # Kernels name every rounding themselves; nothing may be contracted behind their back.
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-ffp-contract=off$<SEMICOLON>--fmad=false>
  $<$<AND:$<BOOL:${NF4BENCH_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>
  $<$<AND:$<BOOL:${NF4BENCH_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:-Xcompiler=-Werror>
  $<$<AND:$<BOOL:${NF4BENCH_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:-Werror=all-warnings>)
if(NF4BENCH_SANITIZE)
  # A target with the property NF4BENCH_UNINSTRUMENTED is linked with the sanitizers, but not compiled
  # with them.
  set(is_instrumented $<NOT:$<BOOL:$<TARGET_PROPERTY:NF4BENCH_UNINSTRUMENTED>>>)
  target_compile_options(nf4bench_flags INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,${is_instrumented}>:-fsanitize=${NF4BENCH_SANITIZE}
                                                        -fno-omit-frame-pointer
                                                        -fno-sanitize-recover=all>
    # Functions of C libraries that are loaded at run time are called through types of our own, which
    # have void* where the library has a pointer to a struct.
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=function>
    # In instrumented code GCC gives false warnings, most of all for its own <regex>.
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
  if(NF4BENCH_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # As GCC says it; clang knows only __has_feature(address_sanitizer).
    target_compile_definitions(nf4bench_flags INTERFACE __SANITIZE_ADDRESS__=1)
  endif()
  target_link_options(nf4bench_flags INTERFACE -fsanitize=${NF4BENCH_SANITIZE})
endif()

option(NF4BENCH_FUZZ "Build the libFuzzer programs of tests/fuzz, and count what is reached" OFF)
if(NF4BENCH_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "NF4BENCH_FUZZ needs clang, which has libFuzzer: cmake --preset checks")
  endif()
  # A target with the property NF4BENCH_COUNTED tells the fuzzer and scripts/coverage what was reached:
  # what they link; counting all else would only cost time. A profile is written where LLVM_PROFILE_FILE
  # says, or nowhere; a name that is not absolute would make ccache miss what other clones compiled.
  target_compile_options(nf4bench_flags INTERFACE
    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:$<TARGET_PROPERTY:NF4BENCH_COUNTED>>>:-fsanitize=fuzzer-no-link;-fprofile-instr-generate=/dev/null;-fcoverage-mapping;-fcoverage-compilation-dir=.>")
  target_link_options(nf4bench_flags INTERFACE -fprofile-instr-generate)
endif()

# Compiled as one, sources take half of the time, and all of it again after any change: for those who
# build once.
set(NF4BENCH_UNITY OFF CACHE STRING "How many sources of a library are compiled as one, or OFF")

# Those that are compiled alone all the same: they have names of a neighbour that does the same for
# something else, or need what no neighbour may have seen before: the words of its enums.
function(nf4bench_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# nf4bench_library(NAME [COLD | BARE] [COUNTED] SOURCES...): a static library with the project's flags.
# COLD: nothing in it is worth the time that full optimization takes, or, with sanitizers, any. BARE:
# without precompiled headers. COUNTED: the fuzzer and scripts/coverage look at it.
function(nf4bench_library name)
  cmake_parse_arguments(ARG "COLD;BARE;COUNTED" "" "" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE nf4bench_flags)
  set_property(GLOBAL APPEND PROPERTY nf4bench_libraries ${name})
  set_target_properties(${name} PROPERTIES NF4BENCH_COUNTED ${ARG_COUNTED})
  if(NF4BENCH_UNITY AND NOT ARG_BARE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${NF4BENCH_UNITY})
    # An Impl may have members without linkage: no other source includes the one that defines it.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
  if(ARG_COLD)
    if(NF4BENCH_SANITIZE)
      set_target_properties(${name} PROPERTIES NF4BENCH_UNOPTIMIZED ON)
    else()
      target_compile_options(${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
    endif()
    nf4bench_precompile(${name} cold)
  elseif(NOT ARG_BARE)
    nf4bench_precompile(${name} hot)
  endif()
endfunction()

# nf4bench_objects(NAME SOURCES...): kernels as object files, for a nf4bench_library() and for the C
# library alike.
function(nf4bench_objects name)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/kernels)
  target_link_libraries(${name} PRIVATE nf4bench_flags nf4bench_format)
endfunction()
