#include "adapters/guard/region_limits.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <system_error>

#include "adapters/guard/guard_units.hpp"
#include "adapters/os/text_file.hpp"
#include "guard/region/limits.hpp"
#include "guard/region/uuid.hpp"

namespace fs = std::filesystem;

namespace tessera {
namespace {

constexpr const char* kEnforces = "enforces";
constexpr const char* kMemory = "memory\n";
constexpr const char* kCompute = "compute\n";

struct Unmap {
    void operator()(guard::Limits* limits) const { munmap(limits, sizeof(guard::Limits)); }
};

guard::GpuLimit* find_limit(guard::Limits& limits, const GpuUuid& gpu) {
    std::uint8_t uuid[16];
    if (!guard::read_uuid(gpu.str().c_str(), uuid)) return nullptr;
    const int index = guard::find_gpu(limits, uuid);
    return index < 0 ? nullptr : &limits.gpus[index];
}

template <class Value>
bool set(std::atomic<Value>& limit, Value value) {
    return limit.exchange(value) != value;
}

// Running processes and the arbiter read each value separately. The order of the writes keeps the
// compute limit at or above the cores at every moment.
bool set_limits(guard::GpuLimit& limit, const EnforcedShare& share) {
    const guard::Millionths cores = millionths_of(share.cores);
    const guard::Millionths cores_limit = millionths_of(share.cores_limit);
    const guard::AllocationUnits memory = units_within(share.memory);
    limit.most_memory = std::max(limit.most_memory.load(), memory);
    bool has_changed = set(limit.memory, memory);
    if (cores_limit >= limit.cores.load()) {
        has_changed |= set(limit.cores_limit, cores_limit);
        has_changed |= set(limit.cores, cores);
    } else {
        has_changed |= set(limit.cores, cores);
        has_changed |= set(limit.cores_limit, cores_limit);
    }
    return has_changed;
}

}  // namespace

ShareResources read_enforced(const fs::path& region) {
    const auto text = read_text_file(region / kEnforces);
    if (text && *text == kMemory) return {.memory = true};
    if (text && *text == kCompute) return {.compute = true};
    return {.memory = true, .compute = true};
}

Result<> write_enforced(const fs::path& region, ShareResources what) {
    if (!what.memory || !what.compute)
        return write_text_file(region / kEnforces, what.memory ? kMemory : kCompute);
    std::error_code error;
    fs::remove(region / kEnforces, error);
    if (!error) return {};
    return fail(Code::unavailable, (region / kEnforces).string() + ": " + error.message());
}

EnforcedShare as_enforced(EnforcedShare share, ShareResources what) {
    if (what.compute) return share;
    share.cores = {};
    share.cores_limit = kNoCoresLimit;
    return share;
}

Result<bool> RegionLimits::change(const PodUid& pod, const std::string& container,
                                  const std::vector<EnforcedShare>& shares) {
    const fs::path region = pods_ / pod.str() / container;
    const fs::path path = region / guard::kLimitsName;
    std::error_code none;
    if (!fs::exists(path, none)) return false;
    const std::unique_ptr<guard::Limits, Unmap> limits(guard::change_limits(path.c_str()));
    if (limits == nullptr) {
        return fail(Code::corrupt, path.string() +
                                       " is not whole, or of another version of the guard; the "
                                       "limits change when the container starts again");
    }
    const ShareResources what = read_enforced(region);
    bool has_changed = false;
    for (const EnforcedShare& share : shares) {
        guard::GpuLimit* limit = find_limit(*limits, share.gpu);
        if (limit != nullptr) has_changed |= set_limits(*limit, as_enforced(share, what));
    }
    if (has_changed && on_change_) on_change_();
    return has_changed;
}

}  // namespace tessera
