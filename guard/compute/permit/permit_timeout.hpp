// How long a thread waits for a launch permit while the container has work in flight that does not
// end.
//
// Within the timeout, the largest debt is paid back. Work that is in flight for all of that time
// may be waiting for what the thread is about to launch. Examples are a kernel that spins until
// another stream writes, cuStreamWaitValue32, and a host function that waits for a thread. Then
// neither would ever end. So the thread goes on without a permit. Only one thread of the container
// may do so per timeout: otherwise no limit would apply to kernels that last longer than the
// timeout.
#pragma once

#include <cstdint>

namespace tessera::guard {

// Any thread, with an object of its own. Requires that begin() has succeeded.
class PermitTimeout {
  public:
    explicit PermitTimeout(int gpu);

    [[nodiscard]] std::int64_t end_ns() const { return since_ns_ + limit_ns_; }
    // True if the thread may go on without a permit. This is true once per timeout.
    [[nodiscard]] bool is_over() const;

  private:
    const int gpu_;
    const std::int64_t since_ns_;
    const std::int64_t limit_ns_;
};

}  // namespace tessera::guard
