# Shared by the scripts here; to be sourced. Sets root, and moves there.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

say() { printf '==> %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# How many compilers fit: one a core, and 1.5 GiB of memory each.
parallel_jobs() {
  local cores memory_kib fit
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  fit=$((memory_kib / 1572864))
  if [ "$fit" -lt 1 ]; then fit=1; fi
  if [ "$fit" -lt "$cores" ]; then echo "$fit"; else echo "$cores"; fi
}

# The path of nvcc; empty without a CUDA Toolkit.
find_nvcc() {
  if command -v nvcc; then return 0; fi
  if [ -x /usr/local/cuda/bin/nvcc ]; then echo /usr/local/cuda/bin/nvcc; fi
}

# The compute capabilities of the GPUs here, as CMake writes architectures ("90" or "80;90"); empty
# without a GPU whose driver answers.
gpu_architectures() {
  command -v nvidia-smi > /dev/null || return 0
  nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null |
    tr -d '. ' | grep -E '^[0-9]+$' | sort -un | paste -sd ';' || true
}

# configure BUILD_DIR [CMAKE_OPTION...]: quiet unless it fails. NF4BENCH_CMAKE_OPTIONS in the
# environment adds options.
configure() {
  local build=$1 log
  shift
  mkdir -p "$build"
  log=$build/configure.log
  local options=()
  if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja > /dev/null; then
    options+=(-G Ninja)
  fi
  if command -v ccache > /dev/null; then
    options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
  fi
  if ! cmake -S . -B "$build" "${options[@]}" "$@" ${NF4BENCH_CMAKE_OPTIONS:-} > "$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
  grep -E 'CUDA device:' "$log" >&2 || true
}

# How far the build that writes LOG is, as it says itself: "[12/219]".
progress_of() { grep -oE '^\[[^]]+\]' "$1" 2> /dev/null | tail -1 || true; }

# show_progress LOG: says how far the build is until it is killed: in one line that moves on a
# terminal, elsewhere in a line every 20 seconds.
show_progress() {
  local log=$1 seconds=0 now
  while kill -0 $$ 2> /dev/null; do
    sleep 1 > /dev/null 2>&1
    seconds=$((seconds + 1))
    now=$(progress_of "$log")
    if [ -t 2 ]; then
      printf '\r    %-20s' "$now" >&2
    elif [ $((seconds % 20)) -eq 0 ]; then
      say "$now after $seconds s"
    fi
  done
}

# build BUILD_DIR LOG [TARGET...]: builds, or prints the log and ends the script.
build() {
  local build=$1 log=$2 status=0 printer
  shift 2
  : > "$log"
  show_progress "$log" &
  printer=$!
  cmake --build "$build" -j "$(parallel_jobs)" ${1:+--target "$@"} > "$log" 2>&1 < /dev/null || status=$?
  kill "$printer" 2> /dev/null || true
  wait "$printer" 2> /dev/null || true
  if [ -t 2 ]; then printf '\r%24s\r' '' >&2; fi
  [ "$status" -eq 0 ] || { cat "$log" >&2; die "the build of $build failed"; }
}

# Sets the array device_options: what CMake needs to build for the GPUs here, or for the CPU alone.
# Says which and why in one line. With NF4BENCH_CUDA=OFF in the environment no GPU is looked for.
choose_device_options() {
  local nvcc architectures
  nvcc=$(find_nvcc)
  architectures=$(gpu_architectures)
  device_options=(-DNF4BENCH_CUDA=OFF)
  if [ "${NF4BENCH_CUDA:-AUTO}" = OFF ]; then
    say "CPU build, as NF4BENCH_CUDA=OFF asks for"
  elif [ -z "$architectures" ]; then
    say "no NVIDIA GPU with a working driver here: CPU build"
  elif [ -z "$nvcc" ]; then
    say "no CUDA Toolkit here (no nvcc on PATH or in /usr/local/cuda/bin): CPU build, the GPU is not used"
  else
    say "CUDA build for compute capability $architectures with $nvcc"
    device_options=(-DNF4BENCH_CUDA=ON "-DCMAKE_CUDA_COMPILER=$nvcc"
                    "-DCMAKE_CUDA_ARCHITECTURES=$architectures")
  fi
}

# count_tests LOG: says how many tests of ctest's log passed, failed and were skipped, which ctest
# counts as passed. Sets total.
count_tests() {
  local summary failed skipped
  summary=$(grep -E 'tests passed, [0-9]+ tests? failed out of [0-9]+' "$1" | tail -1 || true)
  failed=$(sed -nE 's/.* ([0-9]+) tests? failed out of .*/\1/p' <<< "$summary")
  total=$(sed -nE 's/.* out of ([0-9]+).*/\1/p' <<< "$summary")
  total=${total:-0}
  skipped=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' "$1" || true)
  echo "$((total - ${failed:-0} - skipped)) passed, ${failed:-0} failed, $skipped skipped"
}
