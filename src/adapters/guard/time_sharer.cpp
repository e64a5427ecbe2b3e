#include "adapters/guard/time_sharer.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "guard/arbiter/tick.hpp"

namespace fs = std::filesystem;

namespace tessera {
namespace {

using namespace std::chrono_literals;

// The interval when no container has had work for some time. A container that starts then has a
// small budget. The interval is shorter than the time after which a container considers the arbiter
// late (guard/compute/permit/balance_now.cpp).
constexpr auto kQuietTick = 40ms;
constexpr auto kUntilQuiet = 200ms;
// The interval when no GPU's time is shared out.
constexpr auto kIdle = 1000ms;
// The same if this object itself has to find new containers.
constexpr auto kWatchingIdle = 100ms;
// The interval of a new scan, because pods also disappear without a notice.
constexpr auto kLook = 2s;

// The ledger of a container's time belongs to the accounts file that it was read from.
std::string ledger_of(const std::string& name, const OpenRegion& region) {
    return name + " " + std::to_string(region.accounts_inode());
}

}  // namespace

struct TimeSharer::SharedGpu {
    std::vector<guard::Sharer> sharers;
    std::map<std::string, guard::Arbiter::Id> ids;  // by ledger_of()
    guard::Arbiter::Id next_id = 0;
    guard::Arbiter arbiter;
    std::chrono::nanoseconds at_work_at{};
    std::chrono::nanoseconds due_at{};

    [[nodiscard]] bool is_timed() const {
        return std::ranges::any_of(sharers, [](const guard::Sharer& sharer) {
            const guard::GpuLimit& limit = sharer.limits->gpus[sharer.gpu];
            return limit.cores.load() > 0 || limit.cores_limit.load() < guard::kWhole;
        });
    }
};

TimeSharer::TimeSharer(fs::path pods, Clock& clock, TimeSharerOptions options)
    : pods_(std::move(pods)), clock_(clock), options_(options) {}
TimeSharer::~TimeSharer() = default;

// Finds the containers, and the GPUs that they share.
void TimeSharer::look() {
    const MutexLock lock(mutex_);
    std::set<std::string> found;
    for_each_region(pods_, [&](const RegionPath& at) TESSERA_REQUIRES(mutex_) {
        const std::string name = fs::path(at.pod) / at.container;
        auto& region = regions_[name];
        if (region == nullptr || !region->is_still(at.path))
            region = OpenRegion::open(at.path, options_.changed);
        if (region == nullptr) return;
        region->cut_back();
        found.insert(name);
    });
    std::erase_if(regions_, [&](const auto& entry) { return !found.contains(entry.first); });
    for (auto& [uuid, gpu] : gpus_)
        gpu->sharers.clear();
    std::set<std::string> ledgers;
    for (const auto& [name, region] : regions_) {
        if (!region->has_sound_accounts()) continue;
        const std::string ledger = ledger_of(name, *region);
        ledgers.insert(ledger);
        for (unsigned i = 0; i < region->limits().gpu_count; i++) {
            auto& gpu = gpus_[gpu_of(region->limits().gpus[i])];
            if (gpu == nullptr) gpu = std::make_unique<SharedGpu>();
            const auto [id, is_new] = gpu->ids.try_emplace(ledger, gpu->next_id);
            if (is_new) gpu->next_id++;
            gpu->sharers.push_back(
                {id->second, &region->limits(), region->accounts(), static_cast<int>(i)});
        }
    }
    std::erase_if(gpus_, [](const auto& entry) { return entry.second->sharers.empty(); });
    for (const auto& [uuid, gpu] : gpus_) {
        std::erase_if(gpu->ids, [&](const auto& entry) { return !ledgers.contains(entry.first); });
        const std::uint32_t is_timed = gpu->is_timed() ? 1 : 0;
        for (const guard::Sharer& sharer : gpu->sharers)
            sharer.limits->gpus[sharer.gpu].is_timed.store(is_timed);
    }
    looked_at_ = clock_.steady();
}

std::chrono::milliseconds TimeSharer::tick() {
    std::chrono::nanoseconds next =
        clock_.steady() + (options_.watches_folder ? kWatchingIdle : kIdle);
    for (const auto& [uuid, gpu] : gpus_) {
        if (!gpu->is_timed()) continue;
        if (gpu->due_at <= clock_.steady()) {
            const auto start = clock_.steady();
            {
                const MutexLock lock(mutex_);
                guard::tick(gpu->arbiter, gpu->sharers, guard::monotonic_ns());
            }
            const auto now = clock_.steady();
            if (!gpu->arbiter.is_quiet()) gpu->at_work_at = now;
            const bool is_quiet = now - gpu->at_work_at > kUntilQuiet;
            gpu->due_at = now + (is_quiet ? kQuietTick : guard::until_next_tick(now - start));
        }
        next = std::min(next, gpu->due_at);
    }
    const auto left = next - clock_.steady();
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(left), 1ms);
}

GpuTime TimeSharer::time_of(const std::string& container, const GpuUuid& gpu, TimeOf time) const {
    const MutexLock lock(mutex_);
    const auto of = gpus_.find(gpu);
    const auto region = regions_.find(container);
    if (of == gpus_.end() || region == regions_.end()) return {};
    const auto id = of->second->ids.find(ledger_of(container, *region->second));
    if (id == of->second->ids.end()) return {};
    const guard::Arbiter& arbiter = of->second->arbiter;
    return {.kernels_ns = (arbiter.*time)(id->second, guard::WorkKind::kernels),
            .copies_ns = (arbiter.*time)(id->second, guard::WorkKind::copies)};
}

GpuTime TimeSharer::had(const std::string& container, const GpuUuid& gpu) const {
    return time_of(container, gpu, &guard::Arbiter::used_ns);
}

GpuTime TimeSharer::busy(const std::string& container, const GpuUuid& gpu) const {
    return time_of(container, gpu, &guard::Arbiter::busy_ns);
}

bool TimeSharer::has_folder_changed() {
    if (!options_.watches_folder) return false;
    std::error_code error;
    const auto time = fs::last_write_time(pods_, error);
    return std::exchange(folder_time_, time) != time;
}

void TimeSharer::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const bool has_folder_changed = this->has_folder_changed();
        if (has_changed_.exchange(false) || has_folder_changed ||
            clock_.steady() - looked_at_ > kLook)
            look();
        clock_.sleep_for(tick(), stop);
    }
}

}  // namespace tessera
