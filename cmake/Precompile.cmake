# Headers that most files include, compiled once for each set of flags: parsing them is half of what
# a source costs. A source includes what it uses all the same; without precompiled headers
# (-DNF4BENCH_PRECOMPILE=OFF) it must compile, too. TESTS: only the tests have them, so that an include that
# is missing elsewhere is an error.

set(NF4BENCH_PRECOMPILE ON CACHE STRING "Precompile the headers that most files include: ON, OFF or TESTS")

set(precompiled_headers
  <algorithm> <array> <cmath> <cstdint> <cstring> <filesystem> <functional> <map> <memory> <optional>
  <set> <span> <string> <string_view> <utility> <vector> <fmt/format.h> <fmt/ranges.h>)

# ccache takes a precompiled header for a plain one unless it is told, and then stores nothing.
foreach(language C CXX CUDA)
  if(NF4BENCH_PRECOMPILE AND CMAKE_${language}_COMPILER_LAUNCHER MATCHES "ccache$")
    set(CMAKE_${language}_COMPILER_LAUNCHER
        env CCACHE_SLOPPINESS=pch_defines,time_macros ${CMAKE_${language}_COMPILER_LAUNCHER})
  endif()
endforeach()

# nf4bench_precompile(TARGET FLAGS [HEADER...]): gives TARGET the precompiled headers, and HEADERs
# with them. All targets with the same word FLAGS share one file, made by the first: they have the
# same compile options and the same HEADERs.
function(nf4bench_precompile target flags)
  if(NOT NF4BENCH_PRECOMPILE OR (NF4BENCH_PRECOMPILE STREQUAL "TESTS" AND NOT flags MATCHES "test"))
    return()
  endif()
  get_target_property(is_counted ${target} NF4BENCH_COUNTED)
  if(NF4BENCH_FUZZ AND is_counted)
    string(APPEND flags _counted)
  endif()
  target_link_libraries(${target} PRIVATE fmt::fmt)  # its definitions are part of what is precompiled
  # What ccache needs to see through them, and to find the same file again.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  get_property(owner GLOBAL PROPERTY nf4bench_precompiled_${flags})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${precompiled_headers} ${ARGN})
    set_property(GLOBAL PROPERTY nf4bench_precompiled_${flags} ${target})
  endif()
endfunction()
