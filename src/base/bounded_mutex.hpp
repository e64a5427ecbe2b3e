// A mutex for what can take long, such as calls of a driver: a thread that waits for it gives up
// after a time. Threads get it in the order in which they asked for it, so a thread that unlocks it
// and locks it again lets the others pass. Clang's thread-safety analysis does not follow it, so
// members that it guards say so in a comment.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
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

    // Nothing if other threads hold it for that long.
    [[nodiscard]] std::optional<Lock> lock_within(std::chrono::milliseconds longest) {
        MutexLock lock(mutex_);
        const std::uint64_t turn = next_turn_++;
        waiting_.push_back(turn);
        const bool is_mine = changed_.wait_for(
            lock, longest, [&]() TESSERA_REQUIRES(mutex_) { return is_turn(turn); });
        return take(turn, is_mine);
    }
    [[nodiscard]] Lock lock() {
        MutexLock lock(mutex_);
        const std::uint64_t turn = next_turn_++;
        waiting_.push_back(turn);
        changed_.wait(lock, [&]() TESSERA_REQUIRES(mutex_) { return is_turn(turn); });
        return std::move(*take(turn, true));
    }

  private:
    [[nodiscard]] bool is_turn(std::uint64_t turn) const TESSERA_REQUIRES(mutex_) {
        return !is_locked_ && waiting_.front() == turn;
    }
    std::optional<Lock> take(std::uint64_t turn, bool is_mine) TESSERA_REQUIRES(mutex_) {
        std::erase(waiting_, turn);
        if (!is_mine) {
            // It can be the turn of the next one now.
            changed_.notify_all();
            return std::nullopt;
        }
        is_locked_ = true;
        return Lock(*this);
    }
    void unlock() {
        const MutexLock lock(mutex_);
        is_locked_ = false;
        changed_.notify_all();
    }

    Mutex mutex_;
    std::condition_variable_any changed_;
    bool is_locked_ TESSERA_GUARDED_BY(mutex_) = false;
    std::uint64_t next_turn_ TESSERA_GUARDED_BY(mutex_) = 0;
    std::deque<std::uint64_t> waiting_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
