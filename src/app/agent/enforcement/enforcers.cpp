#include "app/agent/enforcement/enforcers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace tessera {
namespace {

std::string_view name_of(ShareResource resource) {
    return resource == ShareResource::memory ? "memory" : "compute";
}

struct Reason {
    std::string_view enforcer;
    Error error;
};

// One enforcer speaks for itself. Several are named.
Error merged(ShareResource resource, const std::vector<Reason>& reasons) {
    if (reasons.size() == 1) return reasons[0].error;
    std::string text;
    for (const Reason& reason : reasons) {
        text +=
            fmt::format("{}{}: {}", text.empty() ? "" : "; ", reason.enforcer, reason.error.text);
    }
    return {Code::unsupported, fmt::format("no enforcer of this node can limit the container's GPU "
                                           "{}: {}",
                                           name_of(resource), text)};
}

void append(ContainerEdits&& more, ContainerEdits& edits) {
    std::ranges::move(more.env, std::back_inserter(edits.env));
    std::ranges::move(more.cdi_devices, std::back_inserter(edits.cdi_devices));
    std::ranges::move(more.mounts, std::back_inserter(edits.mounts));
}

// Takes over the part that the enforcer of `from` limits.
void merge(const ShareUse& from, ShareResources what, ShareUse& use) {
    if (use.name.name.empty()) use.name = from.name;
    if (what.memory) {
        use.used = from.used;
        use.limit = from.limit;
        use.refusals = from.refusals;
        // Also of contexts with too much compute: the enforcer in the container counts them.
        use.refused_contexts = from.refused_contexts;
        use.processes = from.processes;
        use.is_damaged = from.is_damaged;
    }
    if (what.compute) {
        use.cores = from.cores;
        use.cores_limit = from.cores_limit;
        use.is_timed = from.is_timed;
        use.in_flight = from.in_flight;
        use.had = from.had;
        use.waited_ns = from.waited_ns;
    }
}

}  // namespace

std::string EnforcedBy::text() const {
    if (memory == compute) return memory;
    return fmt::format("memory={},compute={}", memory, compute);
}

EnforcedBy Enforcers::Choice::by() const {
    return {std::string(memory_->name()), std::string(compute_->name())};
}

ShareResources Enforcers::Choice::of(const Enforcer& enforcer) const {
    return {.memory = memory_ == &enforcer, .compute = compute_ == &enforcer};
}

std::vector<std::string> Enforcers::Choice::mount_points() const {
    std::vector<std::string> points;
    const auto add = [&](const Enforcer& enforcer) {
        if (enforcer.files() == nullptr) return;
        std::ranges::move(enforcer.files()->mount_points(), std::back_inserter(points));
    };
    add(*memory_);
    if (compute_ != memory_) add(*compute_);
    return points;
}

std::string Enforcers::fault() const {
    if (rows_.empty()) return {};
    for (const ShareResource resource : {ShareResource::memory, ShareResource::compute}) {
        std::vector<Reason> reasons;
        for (const Enforcer* row : rows_) {
            std::string fault = row->fault(resource);
            if (!fault.empty())
                reasons.push_back({row->name(), {Code::unsupported, std::move(fault)}});
        }
        if (reasons.size() == rows_.size()) return merged(resource, reasons).text;
    }
    return {};
}

Result<Enforcer*> Enforcers::first_for(ShareResource resource, const EnforcedContainer& container,
                                       const std::vector<EnforcedShare>& shares) const {
    std::vector<Reason> reasons;
    for (Enforcer* row : rows_) {
        auto can = row->can_enforce(resource, container, shares);
        if (can) return row;
        reasons.push_back({row->name(), std::move(can).error()});
    }
    return fail(merged(resource, reasons));
}

Result<Enforcer*> Enforcers::memory_enforcer(std::string_view name,
                                             const EnforcedContainer& container,
                                             const std::vector<EnforcedShare>& shares) const {
    const auto cannot = [&](std::string_view why) {
        return fail(Code::unsupported,
                    fmt::format("the pod was placed so that {} limits its memory "
                                "(tessera.dev/enforced-by), and on this node it cannot now: {}. "
                                "Delete the pod, so that it is created again",
                                name, why));
    };
    const auto row = std::ranges::find(rows_, name, &Enforcer::name);
    if (row == rows_.end()) return cannot("the agent is configured without it");
    const auto can = (*row)->can_enforce(ShareResource::memory, container, shares);
    if (!can) return cannot(can.error().text);
    return *row;
}

Result<Enforcers::Choice> Enforcers::choose(const EnforcedContainer& container,
                                            const std::vector<EnforcedShare>& shares,
                                            std::string_view memory_by) const {
    TRY(Enforcer* const memory, memory_by.empty()
                                    ? first_for(ShareResource::memory, container, shares)
                                    : memory_enforcer(memory_by, container, shares));
    TRY(Enforcer* const compute, first_for(ShareResource::compute, container, shares));
    return Choice(*memory, *compute);
}

Result<ContainerEdits> Enforcers::prepare(const Choice& choice, const EnforcedContainer& container,
                                          const std::vector<EnforcedShare>& shares) const {
    ContainerEdits edits;
    for (Enforcer* row : rows_) {
        const ShareResources what = choice.of(*row);
        if (what.any()) {
            TRY(auto more, row->prepare(container, shares, what));
            append(std::move(more), edits);
        } else if (row->enforces(container.pod, container.container).any()) {
            row->release(container.pod, container.container);
        }
    }
    return edits;
}

Result<> Enforcers::apply(const EnforcedContainer& container, std::int64_t pid) const {
    for (Enforcer* row : rows_) {
        if (!row->enforces(container.pod, container.container).any()) continue;
        TRY_VOID(row->apply(container, pid));
    }
    return {};
}

EnforcedBy Enforcers::enforced_by(const PodUid& pod, const std::string& container) const {
    EnforcedBy by;
    for (const Enforcer* row : rows_) {
        const ShareResources what = row->enforces(pod, container);
        if (what.memory && by.memory.empty()) by.memory = row->name();
        if (what.compute && by.compute.empty()) by.compute = row->name();
    }
    return by;
}

Result<bool> Enforcers::update(const PodUid& pod, const std::string& container,
                               const std::vector<EnforcedShare>& shares) const {
    Result<bool> all = false;
    for (Enforcer* row : rows_) {
        auto changed = row->update(pod, container, shares);
        if (!all) continue;
        if (!changed) {
            all = std::move(changed);
        } else {
            *all |= *changed;
        }
    }
    return all;
}

Result<> Enforcers::verify(const EnforcedContainer& container, std::int64_t pid) const {
    bool is_prepared = false;
    for (const Enforcer* row : rows_) {
        if (!row->enforces(container.pod, container.container).any()) continue;
        is_prepared = true;
        TRY_VOID(row->verify(container, pid));
    }
    if (is_prepared) return {};
    return fail(Code::conflict,
                fmt::format("container {}: nothing on this node enforces its GPU share; delete the "
                            "pod, so that it is created again",
                            container.container));
}

bool Enforcers::has_started_enforced(const PodUid& pod, const std::string& container,
                                     const std::vector<ContainerMount>& mounts) const {
    const auto has_files = [&](const ContainerFiles& files) {
        return std::ranges::all_of(files.mount_points(), [&](const std::string& point) {
            return files.is_optional(point) ||
                   std::ranges::any_of(mounts, [&](const ContainerMount& mount) {
                       return mount.destination == point && files.is_ours(mount.source);
                   });
        });
    };
    bool has_started = false;
    for (const Enforcer* row : rows_) {
        const bool is_prepared = row->enforces(pod, container).any();
        const bool has_its_files = row->files() != nullptr && has_files(*row->files());
        if (is_prepared && row->files() != nullptr && !has_its_files) return false;
        has_started |= has_its_files || (is_prepared && row->files() == nullptr);
    }
    return has_started;
}

std::set<PodUid> Enforcers::pods() const {
    std::set<PodUid> pods;
    for (const Enforcer* row : rows_)
        pods.merge(row->pods());
    return pods;
}

bool Enforcers::is_in_use(const PodUid& pod) const {
    return std::ranges::any_of(rows_, [&](const Enforcer* row) { return row->is_in_use(pod); });
}

void Enforcers::recover(const std::set<PodUid>& known, const std::set<PodUid>& orphans) const {
    for (Enforcer* row : rows_)
        row->recover(known, orphans);
}

void Enforcers::cleanup(const PodUid& pod) const {
    for (Enforcer* row : rows_)
        row->cleanup(pod);
}

std::optional<std::string> Enforcers::container_of(const PodUid& pod, std::int64_t pid) const {
    for (const Enforcer* row : rows_) {
        if (row->files() == nullptr) continue;
        if (auto container = row->files()->container_of(pod, pid)) return container;
    }
    return std::nullopt;
}

ShareUsage Enforcers::usage() const {
    ShareUsage all;
    std::map<std::tuple<PodUid, std::string, GpuUuid>, std::size_t> places;
    for (const Enforcer* row : rows_) {
        ShareUsage of_row = row->usage();
        all.unreadable.merge(of_row.unreadable);
        for (ShareUse& use : of_row.uses) {
            const auto [place, is_new] =
                places.try_emplace({use.pod, use.container, use.gpu}, all.uses.size());
            if (is_new) {
                all.uses.push_back(std::move(use));
            } else {
                merge(use, row->enforces(use.pod, use.container), all.uses[place->second]);
            }
        }
    }
    return all;
}

}  // namespace tessera
