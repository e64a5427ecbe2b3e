// How long a thread waits for its turn while work of the container is in flight that does not end.
//
// A debt is paid back in so much time, at the most. Work that is in flight all that time may wait
// for what the thread is about to launch (a kernel that spins until another stream writes,
// cuStreamWaitValue32, a host function that waits for a thread), and then neither would ever end.
// So the thread goes on without its turn; one of the container in as much time, for kernels that
// last longer than that would else be held by nothing.
#pragma once

#include <cstdint>

namespace tessera::guard {

// Any thread, of its own. Wants begin() to have succeeded.
class Patience {
  public:
    explicit Patience(int card);

    [[nodiscard]] std::int64_t end_ns() const { return since_ns_ + limit_ns_; }
    // True once for each time that it is: the thread goes on.
    [[nodiscard]] bool is_over() const;

  private:
    const int card_;
    const std::int64_t since_ns_;
    const std::int64_t limit_ns_;
};

}  // namespace tessera::guard
