#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>

namespace nf4bench::kernels::cpu {

// A T of the calling thread, plain data, made when the thread first asks for it. A thread_local
// variable of this size would be taken from the stack of every thread of a program that is linked
// with the library. Threads that get no memory take turns with one that is there.
template <class T>
class ThreadScratch {
 public:
  ThreadScratch() : memory_(of_thread()) {
    if (memory_ != nullptr) return;
    static std::mutex turn;
    static T spare;
    turn_ = std::unique_lock(turn);
    memory_ = &spare;
  }

  T& operator*() const { return *memory_; }

 private:
  // What threads have is freed when they end, and that of the one that unloads the library or ends
  // the program with the key. Made before any helper thread, so that they end earlier.
  struct Key {
    pthread_key_t id = 0;
    bool is_made = pthread_key_create(&id, std::free) == 0;
    Key() = default;
    ~Key() {
      if (!is_made) return;
      std::free(pthread_getspecific(id));
      pthread_key_delete(id);
    }
    Key(const Key&) = delete;
    Key& operator=(const Key&) = delete;
  };

  static T* of_thread() {
    if (!key_.is_made) return nullptr;
    if (void* const known = pthread_getspecific(key_.id)) return static_cast<T*>(known);
    static_assert(sizeof(T) % alignof(T) == 0);
    void* const made = std::aligned_alloc(alignof(T), sizeof(T));
    if (made == nullptr) return nullptr;
    std::memset(made, 0, sizeof(T));
    if (pthread_setspecific(key_.id, made) == 0) return static_cast<T*>(made);
    std::free(made);
    return nullptr;
  }

  static inline const Key key_;

  T* memory_;
  std::unique_lock<std::mutex> turn_;
};

}  // namespace nf4bench::kernels::cpu
