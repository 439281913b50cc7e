#pragma once

struct CUstream_st;

namespace nf4bench {

// A kernel that occupies all multiprocessors of the device, of which it gives back as many as it is
// told to.
class HeldDevice {
 public:
  HeldDevice();  // returns when all are occupied
  HeldDevice(const HeldDevice&) = delete;
  HeldDevice& operator=(const HeldDevice&) = delete;
  ~HeldDevice();

  // From now on that many are free.
  void release(int multiprocessors);
  void release_all() { release(multiprocessors_); }

 private:
  struct Counts {
    int occupied;
    int released;
  };
  int multiprocessors_ = 0;
  volatile Counts* counts_ = nullptr;  // that the kernel sees, too
  CUstream_st* stream_ = nullptr;
};

}  // namespace nf4bench
