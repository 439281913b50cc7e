#pragma once

namespace nf4bench::test {

// What one call of the fake library's functions was given.
struct FakeCall {
  const char* function;
  const void* code;
  const void* codes;
  const void* absmax;
  void* out;
  int blocksize;
  int n;
  const void* stream;  // builds without a stream argument: null
};

// The fake library exports `fake_calls` and `fake_call_count` of these types.
inline constexpr int kFakeCalls = 64;

}  // namespace nf4bench::test
