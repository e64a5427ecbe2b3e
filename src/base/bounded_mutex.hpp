// A mutex for what can take long, such as calls of a driver: a thread that waits for it gives up
// after a time. Clang's thread-safety analysis does not follow it, so members that it guards say so
// in a comment.
#pragma once

#include <chrono>
#include <condition_variable>
#include <optional>
#include <utility>

#include "base/mutex.hpp"

namespace tessera {

class BoundedMutex {
  public:
    // Unlocks at the end of its scope.
    class Lock {
      public:
        Lock(Lock&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        Lock& operator=(Lock&&) = delete;
        ~Lock() {
            if (of_ != nullptr) of_->unlock();
        }

      private:
        friend BoundedMutex;
        explicit Lock(BoundedMutex& of) : of_(&of) {}
        BoundedMutex* of_;
    };

    // Nothing if another thread holds it for that long.
    [[nodiscard]] std::optional<Lock> lock_within(std::chrono::milliseconds longest) {
        MutexLock lock(mutex_);
        const bool is_free = unlocked_.wait_for(
            lock, longest, [this]() TESSERA_REQUIRES(mutex_) { return !is_locked_; });
        if (!is_free) return std::nullopt;
        is_locked_ = true;
        return Lock(*this);
    }
    [[nodiscard]] Lock lock() {
        MutexLock lock(mutex_);
        unlocked_.wait(lock, [this]() TESSERA_REQUIRES(mutex_) { return !is_locked_; });
        is_locked_ = true;
        return Lock(*this);
    }

  private:
    void unlock() {
        {
            const MutexLock lock(mutex_);
            is_locked_ = false;
        }
        unlocked_.notify_one();
    }

    Mutex mutex_;
    std::condition_variable_any unlocked_;
    bool is_locked_ TESSERA_GUARDED_BY(mutex_) = false;
};

}  // namespace tessera
