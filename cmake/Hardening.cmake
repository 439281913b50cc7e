# What a release build has against memory errors that tests and fuzzing did not find: position
# independent code, read-only relocations bound at start, stack protection, checked libc calls and
# checked containers of libstdc++. Part of nf4bench_flags; the sanitizers replace it.

include(CheckCXXCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

if(NF4BENCH_SANITIZE)
  return()
endif()

set(checked_flags -fstack-protector-strong -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND checked_flags -fcf-protection)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  list(APPEND checked_flags -mbranch-protection=standard)
endif()
foreach(flag IN LISTS checked_flags)
  string(MAKE_C_IDENTIFIER "NF4BENCH_HAS${flag}" has_flag)
  check_cxx_compiler_flag(${flag} ${has_flag})
  if(${has_flag})
    target_compile_options(nf4bench_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${flag}>)
  endif()
endforeach()
target_compile_options(nf4bench_flags INTERFACE
  # Distributions predefine a lower level; without optimization there is none.
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>,$<NOT:${is_unoptimized}>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>)
target_compile_definitions(nf4bench_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)
target_link_options(nf4bench_flags INTERFACE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
