// What an agent keeps of GPU time on its node: how far the pods are charged, and the records that
// the ledger has not received yet. Both survive the agent and the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/budget/usage_record.hpp"
#include "domain/metering/usage_meter.hpp"

namespace tessera {

// Records that were added together, or joined since.
struct UsageBatch {
    std::string name;
    std::vector<UsageRecord> records;
};

struct SpoolUse {
    std::size_t batches = 0;
    std::int64_t bytes = 0;
    std::int64_t lost = 0;  // batches that were removed because they were too many, or unreadable
};

// Any thread may call. Writes are on the disk when they return. unavailable: the disk gives the
// reason.
class UsageSpool {
  public:
    virtual ~UsageSpool() = default;

    // What the last agent wrote; an empty state if there is none. A file that cannot be read is
    // renamed, which is logged, and the state is empty.
    virtual Result<MeterState> read_state() = 0;
    virtual Result<> write_state(const MeterState& state) = 0;

    // If the records become too many, the oldest are removed, which is logged.
    virtual Result<> add(std::span<const UsageRecord> records) = 0;
    // The records that were added first. Nothing if there are none. A file that cannot be read is
    // renamed, which is logged.
    virtual Result<std::optional<UsageBatch>> oldest() = 0;
    // The ledger has them.
    virtual Result<> remove(const UsageBatch& batch) = 0;
    // The ledger will never take them. They are kept for the administrator.
    virtual Result<> reject(const UsageBatch& batch) = 0;
    // Joins many small batches, without a loss. Call it from time to time.
    virtual Result<> join() = 0;

    [[nodiscard]] virtual SpoolUse use() const = 0;
};

}  // namespace tessera
