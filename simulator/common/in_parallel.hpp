// Runs many jobs, several at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

namespace tessera {

// Called before the first part of the work and after each part, by one thread at a time.
using Progress = std::function<void(std::size_t done, std::size_t of)>;

// Counts the work of several threads. `progress` outlives this.
class SharedProgress {
  public:
    SharedProgress(const Progress& progress, std::size_t of) : progress_(progress), of_(of) {
        if (of > 0) progress(0, of);
    }

    void one_more() { more(1); }
    void more(std::size_t parts) {
        const std::scoped_lock lock(mutex_);
        done_ += parts;
        progress_(done_, of_);
    }

  private:
    const Progress& progress_;
    const std::size_t of_;
    std::mutex mutex_;
    std::size_t done_ = 0;
};

// Runs the jobs 0, 1, ... below `jobs`, in this order, on `threads` threads including the caller's.
// Returns when all are done. If a job throws (out of memory), no further job begins, and the
// exception is rethrown here when the running jobs are done.
void in_parallel(std::size_t jobs, int threads, const std::function<void(std::size_t)>& carry_out);

}  // namespace tessera
