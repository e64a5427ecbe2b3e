// An enforcer that Tessera does not have, to show how one is added. It is outside the container: a
// driver limits the memory of a pod's containers by the pod's UID, and can be asked what it limits.
// No file is mounted and no call is hooked.
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ports/enforcer.hpp"

namespace tessera::toy {

// Pod, container and GPU.
using Place = std::tuple<PodUid, std::string, GpuUuid>;

struct MemoryLimit {
    Bytes soft;  // guaranteed
    Bytes hard;

    friend bool operator==(const MemoryLimit&, const MemoryLimit&) = default;
};

// What outlives the agent. Not thread-safe.
struct Node {
    std::map<Place, MemoryLimit> in_force;  // in the driver; lost when the driver is loaded again
    std::map<Place, Bytes> used;            // by the driver's count
    std::map<Place, MemoryLimit> records;   // of the enforcer, in a file of the node
    std::string driver_fault = {};          // why this driver limits no memory, and what to do
    bool drops_limits = false;              // the driver accepts limits and does not keep them
};

// Uses the node from one thread. A real enforcer locks.
class ToyEnforcer final : public Enforcer {
  public:
    static constexpr std::string_view kVariable = "TOY_MEMORY_DOMAIN";

    // `node` outlives this.
    explicit ToyEnforcer(Node& node) : node_(node) {}

    [[nodiscard]] std::string_view name() const override { return "toy"; }
    [[nodiscard]] std::string fault(ShareResource resource) const override {
        return resource == ShareResource::memory ? node_.driver_fault : "it limits memory only";
    }
    [[nodiscard]] Result<> can_enforce(ShareResource resource, const EnforcedContainer&,
                                       const std::vector<EnforcedShare>&) const override {
        if (std::string reason = fault(resource); !reason.empty())
            return fail(Code::unsupported, std::move(reason));
        return {};
    }
    Result<ContainerEdits> prepare(const EnforcedContainer& container,
                                   const std::vector<EnforcedShare>& shares,
                                   ShareResources) override {
        release(container.pod, container.container);
        record(container.pod, container.container, shares);
        return ContainerEdits{.env = {{std::string(kVariable), container.pod.str()}},
                              .cdi_devices = {},
                              .mounts = {}};
    }
    // A driver's limit needs a container that exists.
    Result<> apply(const EnforcedContainer& container, std::int64_t) override {
        if (node_.drops_limits) return {};
        for (const auto& [place, limit] : node_.records)
            if (is_of(place, container.pod, container.container)) node_.in_force[place] = limit;
        return {};
    }
    [[nodiscard]] ShareResources enforces(const PodUid& pod,
                                          const std::string& container) const override {
        for (const auto& [place, limit] : node_.records)
            if (is_of(place, pod, container)) return {.memory = true};
        return {};
    }
    void release(const PodUid& pod, const std::string& container) override {
        erase_if([&](const Place& place) { return is_of(place, pod, container); });
    }
    // The limits of orphans stay as they are until cleanup().
    void recover(const std::set<PodUid>& known, const std::set<PodUid>&) override {
        for (const auto& [place, limit] : node_.records)
            if (known.contains(std::get<PodUid>(place))) node_.in_force[place] = limit;
    }
    Result<bool> update(const PodUid& pod, const std::string& container,
                        const std::vector<EnforcedShare>& shares) override {
        if (!enforces(pod, container).any()) return false;
        const bool has_changed = record(pod, container, shares);
        TRY_VOID(apply({pod, {}, container}, 0));
        return has_changed;
    }
    [[nodiscard]] Result<> verify(const EnforcedContainer& container, std::int64_t) const override {
        for (const auto& [place, limit] : node_.records) {
            if (!is_of(place, container.pod, container.container)) continue;
            const auto now = node_.in_force.find(place);
            if (now != node_.in_force.end() && now->second == limit) continue;
            return fail(Code::conflict,
                        fmt::format("container {}: the driver does not limit its memory on {} to "
                                    "{}; delete the pod",
                                    container.container, std::get<GpuUuid>(place).str(),
                                    to_string(limit.hard)));
        }
        return {};
    }
    [[nodiscard]] ShareUsage usage() const override {
        ShareUsage all;
        for (const auto& [place, limit] : node_.records) {
            const auto& [pod, container, gpu] = place;
            ShareUse use{.pod = pod, .container = container, .gpu = gpu, .limit = limit.hard};
            if (const auto used = node_.used.find(place); used != node_.used.end())
                use.used = used->second;
            all.uses.push_back(std::move(use));
        }
        return all;
    }
    [[nodiscard]] std::set<PodUid> pods() const override {
        std::set<PodUid> pods;
        for (const auto& [place, limit] : node_.records)
            pods.insert(std::get<PodUid>(place));
        return pods;
    }
    [[nodiscard]] bool is_in_use(const PodUid&) const override { return false; }  // it cannot tell
    void cleanup(const PodUid& pod) override {
        erase_if([&](const Place& place) { return std::get<PodUid>(place) == pod; });
    }

  private:
    static bool is_of(const Place& place, const PodUid& pod, const std::string& container) {
        return std::get<PodUid>(place) == pod && std::get<std::string>(place) == container;
    }
    // Whether anything changed.
    bool record(const PodUid& pod, const std::string& container,
                const std::vector<EnforcedShare>& shares) {
        bool has_changed = false;
        for (const EnforcedShare& share : shares) {
            const MemoryLimit limit{.soft = share.memory_request.value_or(share.memory),
                                    .hard = share.memory};
            const Place place{pod, container, share.gpu};
            has_changed |= std::exchange(node_.records[place], limit) != limit;
        }
        return has_changed;
    }
    template <class Condition>
    void erase_if(const Condition& condition) {
        for (auto* limits : {&node_.records, &node_.in_force})
            std::erase_if(*limits, [&](const auto& limit) { return condition(limit.first); });
    }

    Node& node_;
};

}  // namespace tessera::toy
