# A toolchain that builds for aarch64 Linux elsewhere: Debian's cross compiler, the libraries in NF4BENCH_SYSROOT, and
# qemu for tests. CONTRIBUTING.md has the commands.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# nvcc's headers are the same for both machines; the runtime that it links with has to be in NF4BENCH_SYSROOT.
find_program(CMAKE_CUDA_COMPILER nvcc)
set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
set(CMAKE_CUDA_FLAGS_INIT "--target-directory=x86_64-linux -Xcompiler=--sysroot=${NF4BENCH_SYSROOT}")
set(CMAKE_EXE_LINKER_FLAGS_INIT --sysroot=${NF4BENCH_SYSROOT})  # CMake tells only C++
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES NF4BENCH_SYSROOT)
set(CMAKE_SYSROOT ${NF4BENCH_SYSROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
