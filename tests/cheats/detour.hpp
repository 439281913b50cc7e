// Other code in place of a function of the program.
#pragma once

#include <cstdint>
#include <cstring>
#include <sys/mman.h>

// Whether that worked.
template <class From, class To>
bool detour(From* from, To* to) {
#if defined(__x86_64__)
  constexpr std::uintptr_t kPage = 4096;
  auto* const code = reinterpret_cast<unsigned char*>(from);
  void* const page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(code) & ~(kPage - 1));
  if (mprotect(page, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};  // to where rax says
  std::memcpy(jump + 2, &to, sizeof(to));
  std::memcpy(code, jump, sizeof(jump));
  return true;
#else
  return from == nullptr && to == nullptr;
#endif
}
