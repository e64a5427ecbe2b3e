// Many jobs, several at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

namespace tessera {

// Called before the first part of the work and after each, by one thread at a time.
using Progress = std::function<void(std::size_t done, std::size_t of)>;

// Counts for those who work at the same time. `progress` outlives it.
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

// Carries out the jobs 0, 1, ... below `jobs`, the first ones first, each by one of so many
// threads, the caller's among them. Returns when all are done. What a job throws (there is no
// memory left) is thrown here, when those that were begun are done; no other is begun.
void in_parallel(std::size_t jobs, int threads, const std::function<void(std::size_t)>& carry_out);

}  // namespace tessera
