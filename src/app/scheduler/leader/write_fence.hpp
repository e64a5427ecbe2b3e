// Keeps a replica that does not lead, or is about to lose its Lease, from writing (election.hpp).
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "base/result.hpp"

namespace tessera {

// Any thread may call.
class WriteFence {
  public:
    // Whether a write that takes at most `within` may begin now. If so, the Lease is not given back
    // before that time has passed.
    using BeginWrite = std::function<bool(std::chrono::nanoseconds within)>;

    WriteFence() = default;  // without an election: every write may begin
    explicit WriteFence(BeginWrite begin_write) : begin_write_(std::move(begin_write)) {}

    // Announces no write, so the Lease can be given back at once.
    [[nodiscard]] bool leads() const { return !begin_write_ || begin_write_({}); }
    // Call it directly before the write. unavailable: the write must not begin.
    [[nodiscard]] Result<> begin(std::chrono::nanoseconds takes) const {
        if (!begin_write_ || begin_write_(takes)) return {};
        return fail(Code::unavailable,
                    "this tessera-controller is not the leader, or about to lose its Lease; the "
                    "pod is tried again");
    }

  private:
    BeginWrite begin_write_;
};

}  // namespace tessera
