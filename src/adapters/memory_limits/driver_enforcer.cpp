#include "adapters/memory_limits/driver_enforcer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "adapters/memory_limits/cgroup_processes.hpp"
#include "adapters/os/text_file.hpp"
#include "base/log.hpp"
#include "wire/node/cgroup_path.hpp"
#include "wire/tessera/memory_limits_json.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".json";
// GPUs have pages of this size, so the driver does not round such a limit.
constexpr std::int64_t kPageBytes = std::int64_t{2} << 20;

Bytes limit_for(Bytes share) {
    return share.count < kPageBytes ? share : Bytes{share.count - share.count % kPageBytes};
}

std::vector<GpuMemoryLimit> limits_for(const std::vector<EnforcedShare>& shares) {
    std::vector<GpuMemoryLimit> limits;
    limits.reserve(shares.size());
    for (const EnforcedShare& share : shares)
        limits.push_back({share.gpu, limit_for(share.memory)});
    return limits;
}

std::string in_words(const std::optional<Bytes>& limit) {
    return limit ? fmt::format("{} bytes", limit->count) : "none";
}

bool is_there(const fs::path& path) {
    std::error_code error;
    return fs::exists(path, error);
}

void log_error(const std::string& cgroup, const Error& error) {
    log_event(Event::memory_limit_error, {{"cgroup", cgroup}, {"reason", error.text}});
}

}  // namespace

std::string DriverEnforcer::fault(ShareResource resource) const {
    return resource == ShareResource::memory ? "" : "the driver's limits are for memory only";
}

Result<> DriverEnforcer::can_enforce(ShareResource resource, const EnforcedContainer& container,
                                     const std::vector<EnforcedShare>& shares) const {
    if (resource != ShareResource::memory) return fail(Code::unsupported, fault(resource));
    if (std::ranges::any_of(shares, &EnforcedShare::mps)) {
        return fail(Code::unsupported,
                    "the pod uses MPS, whose server holds memory of its clients");
    }
    if (container.cgroup_path.empty()) {
        return fail(Code::unsupported,
                    "the container runtime does not say the container's cgroup; it does over NRI");
    }
    TRY_VOID(cgroup_folder_of(container.cgroup_path));
    for (const EnforcedShare& share : shares)
        TRY_VOID(limits_.last_supported(share.gpu));
    return {};
}

Result<ContainerEdits> DriverEnforcer::prepare(const EnforcedContainer& container,
                                               const std::vector<EnforcedShare>& shares,
                                               ShareResources) {
    TRY(const std::string folder, cgroup_folder_of(container.cgroup_path));
    const fs::path record = record_of(container.pod, container.container);
    std::error_code error;
    fs::create_directories(record.parent_path(), error);
    if (error) {
        return fail(Code::unavailable,
                    fmt::format("{}: {}", record.parent_path().string(), error.message()));
    }
    TRY_VOID(
        write_text_file(record, write_memory_limits({.cgroup = (cgroup_root_ / folder).string(),
                                                     .limits = limits_for(shares)})));
    return ContainerEdits{};
}

Result<> DriverEnforcer::apply(const EnforcedContainer& container, std::int64_t pid) {
    TRY(const BoundedMutex::Lock lock, locked());
    TRY(const ContainerMemoryLimits wanted, wanted_for(container));
    if (pid != 0) TRY_VOID(check_process_in(wanted.cgroup, pid));
    TRY_VOID(restore(wanted));
    return check(wanted, container.container);
}

ShareResources DriverEnforcer::enforces(const PodUid& pod, const std::string& container) const {
    return {.memory = is_there(record_of(pod, container)), .compute = false};
}

Result<BoundedMutex::Lock> DriverEnforcer::locked() const {
    if (auto lock = mutex_.lock_within(kLongestMemoryLimitWait)) return *std::move(lock);
    return fail(Code::unavailable, "the driver does not answer; try again");
}

Result<bool> DriverEnforcer::restore(const ContainerMemoryLimits& wanted) const {
    bool is_set = false;
    for (const GpuMemoryLimit& limit : wanted.limits) {
        const auto now = limits_.get(limit.gpu, wanted.cgroup);
        if (now && now->limit == limit.memory && now->guaranteed == Bytes{}) continue;
        const auto set = limits_.set(limit.gpu, wanted.cgroup, limit.memory);
        if (!set) return fail(set.error().in(wanted.cgroup));
        is_set = true;
    }
    seen_.insert(wanted.cgroup);
    return is_set;
}

void DriverEnforcer::release(const PodUid& pod, const std::string& container) {
    const fs::path record = record_of(pod, container);
    const auto lock = locked();
    if (lock) {
        remove(record);
        return;
    }
    // The container that starts has another cgroup, so its limit does not depend on the driver.
    std::error_code error;
    fs::remove(record, error);
}

void DriverEnforcer::recover(const std::set<PodUid>& known, const std::set<PodUid>&) {
    for (const PodUid& pod : known) {
        for (const fs::path& path : paths_in(folder_ / pod.str())) {
            const BoundedMutex::Lock lock = mutex_.lock();
            const auto wanted = read(path);
            if (!wanted || !is_there(wanted->cgroup)) continue;
            const auto restored = restore(*wanted);
            if (!restored) log_error(wanted->cgroup, restored.error());
        }
    }
}

Result<bool> DriverEnforcer::update(const PodUid& pod, const std::string& container,
                                    const std::vector<EnforcedShare>& shares) {
    TRY(const BoundedMutex::Lock lock, locked());
    const fs::path record = record_of(pod, container);
    auto wanted = read(record);
    if (!wanted) return false;
    std::vector<GpuMemoryLimit> limits = limits_for(shares);
    const bool is_new = limits != wanted->limits;
    if (is_new) {
        wanted->limits = std::move(limits);
        TRY_VOID(write_text_file(record, write_memory_limits(*wanted)));
    }
    if (!is_there(wanted->cgroup)) return is_new;
    // Also if the record has them already: an earlier call may have failed here.
    TRY(const bool is_set, restore(*wanted));
    return is_new || is_set;
}

Result<> DriverEnforcer::verify(const EnforcedContainer& container, std::int64_t pid) const {
    TRY(const BoundedMutex::Lock lock, locked());
    TRY(const ContainerMemoryLimits wanted, wanted_for(container));
    if (auto there = check_process_in(wanted.cgroup, pid); !there)
        return fail(there.error().in("container " + container.container));
    if (limits_.is_closed()) return {};
    if (!seen_.contains(wanted.cgroup)) TRY_VOID(restore(wanted));
    return check(wanted, container.container);
}

Result<> DriverEnforcer::check(const ContainerMemoryLimits& wanted,
                               const std::string& container) const {
    for (const GpuMemoryLimit& limit : wanted.limits) {
        const auto now = limits_.get(limit.gpu, wanted.cgroup);
        if (!now) return fail(now.error().in(wanted.cgroup));
        if (now->limit == limit.memory) continue;
        return fail(
            Code::conflict,
            fmt::format("container {}: the driver's memory limit of {} on GPU {} is {}, and "
                        "must be {}; someone changed it (nvidia-smi memory-limits). Delete "
                        "the pod, so that it is created again",
                        container, wanted.cgroup, limit.gpu.str(), in_words(now->limit),
                        in_words(limit.memory)));
    }
    return {};
}

std::set<PodUid> DriverEnforcer::pods() const {
    std::set<PodUid> pods;
    for (const fs::path& pod : paths_in(folder_))
        pods.insert(PodUid(pod.filename().string()));
    return pods;
}

bool DriverEnforcer::is_in_use(const PodUid& pod) const {
    return std::ranges::any_of(paths_in(folder_ / pod.str()), [&](const fs::path& path) {
        const auto record = read(path);
        return record && has_processes(record->cgroup);
    });
}

void DriverEnforcer::cleanup(const PodUid& pod) {
    const BoundedMutex::Lock lock = mutex_.lock();
    for (const fs::path& path : paths_in(folder_ / pod.str()))
        remove(path);
    std::error_code error;
    fs::remove_all(folder_ / pod.str(), error);
}

// A cgroup may outlive its container, for example while a process of it cannot end.
void DriverEnforcer::remove(const fs::path& path) {
    const auto record = read(path);
    if (record) seen_.erase(record->cgroup);
    if (record && is_there(record->cgroup)) {
        for (const GpuMemoryLimit& limit : record->limits) {
            const auto set = limits_.set(limit.gpu, record->cgroup, std::nullopt);
            if (!set && set.error().code != Code::not_found) log_error(record->cgroup, set.error());
        }
    }
    std::error_code error;
    fs::remove(path, error);
}

fs::path DriverEnforcer::record_of(const PodUid& pod, const std::string& container) const {
    return folder_ / pod.str() / fmt::format("{}{}", container, kSuffix);
}

Result<ContainerMemoryLimits> DriverEnforcer::wanted_for(const EnforcedContainer& container) const {
    auto wanted = read(record_of(container.pod, container.container));
    if (wanted) return *std::move(wanted);
    return fail(Code::unavailable,
                fmt::format("container {}: what the driver limits its memory to cannot be read",
                            container.container));
}

std::optional<ContainerMemoryLimits> DriverEnforcer::read(const fs::path& record) const {
    // A file that was being written when an agent was killed has another end.
    if (record.extension() != kSuffix) return std::nullopt;
    const auto text = read_text_file_up_to(record, kMostMemoryLimitsBytes);
    if (!text) return std::nullopt;
    auto limits = read_memory_limits(*text);
    if (limits) return *std::move(limits);
    log_error(record.string(), limits.error());
    return std::nullopt;
}

}  // namespace tessera
