// Limits that the driver of the GPUs has for the memory of cgroups. A limit holds for all processes
// of the cgroup together, whatever they have loaded. It is lost with the cgroup.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "base/result.hpp"

namespace tessera {

// A call waits this long for another one, which may hang in the driver.
inline constexpr std::chrono::milliseconds kLongestMemoryLimitWait{500};

struct CgroupMemory {
    Bytes guaranteed;            // by the soft limit, which also counts for the cgroups above
    std::optional<Bytes> limit;  // nothing: the cgroup has no limit of its own

    friend bool operator==(const CgroupMemory&, const CgroupMemory&) = default;
};

// `cgroup` is the absolute path of its folder. Any thread may call. A call that waits longer than
// kLongestMemoryLimitWait for another one gives up.
// Errors: unsupported if the driver has no such limits on this GPU, not_found if it does not know
// the GPU or the cgroup, permission_denied without the privileges, unavailable otherwise, and
// between close() and open().
class CgroupMemoryLimits {
  public:
    virtual ~CgroupMemoryLimits() = default;

    // Whether the driver has such limits on this GPU: no error if it has.
    [[nodiscard]] virtual Result<> check_supported(const GpuUuid& gpu) = 0;
    // The last answer of check_supported() that was not unavailable, without waiting for the
    // driver; unavailable if there was none.
    [[nodiscard]] virtual Result<> last_supported(const GpuUuid& gpu) const = 0;
    [[nodiscard]] virtual Result<CgroupMemory> get(const GpuUuid& gpu,
                                                   const std::string& cgroup) = 0;
    // Nothing: no limit. It guarantees nothing, because guarantees stay with the cgroups above when
    // a cgroup is removed with one. Memory above a new limit is kept.
    virtual Result<> set(const GpuUuid& gpu, const std::string& cgroup,
                         std::optional<Bytes> limit) = 0;
    // Lets go of the driver, so that it can be replaced.
    virtual void close() = 0;
    virtual void open() = 0;
    [[nodiscard]] virtual bool is_closed() const = 0;
};

}  // namespace tessera
