// The agent's table of enforcers, in order of strength. For each container it chooses the first
// that can limit memory, and the first that can limit compute. Both may be the same. A whole GPU
// needs no enforcer, because no other pod uses it.
//
// The table keeps no state: what it knows of a container it asks the enforcers, so it is right
// after a restart of the agent, too. A value: copies have the same enforcers, which outlive them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "ports/enforcer.hpp"
#include "ports/shares/share_meter.hpp"

namespace tessera {

// The names of the enforcers of one container; empty if none limits the resource.
struct EnforcedBy {
    std::string memory;
    std::string compute;

    // "guard" if one enforcer limits both, "memory=NAME,compute=NAME" if they differ, and empty if
    // nothing is limited.
    [[nodiscard]] std::string text() const;

    friend bool operator==(const EnforcedBy&, const EnforcedBy&) = default;
};

// Any thread may call.
class Enforcers final : public ShareMeter {
  public:
    // The enforcers for one container that is about to start.
    class Choice {
      public:
        Choice(Enforcer& memory, Enforcer& compute) : memory_(&memory), compute_(&compute) {}

        [[nodiscard]] EnforcedBy by() const;
        // What this enforcer is to limit.
        [[nodiscard]] ShareResources of(const Enforcer& enforcer) const;
        // As Enforcer::shows_share, of the one that limits memory.
        [[nodiscard]] bool shows_share() const { return memory_->shows_share(); }
        // Where they mount files in the container.
        [[nodiscard]] std::vector<std::string> mount_points() const;

      private:
        Enforcer* memory_;
        Enforcer* compute_;
    };

    // Shares are not enforced.
    Enforcers() = default;
    // The strongest enforcer comes first.
    explicit Enforcers(std::vector<Enforcer*> rows) : rows_(std::move(rows)) {}

    [[nodiscard]] bool empty() const { return rows_.empty(); }
    // Why no container's share can be enforced on this node, by the reasons of all enforcers; empty
    // if it can, and for an empty table.
    [[nodiscard]] std::string fault() const;

    // An error names the reasons of all enforcers, for the pod's event. The table is not empty,
    // or `memory_by` is given.
    // `memory_by`: the enforcer that must limit memory, because the pod was placed for it; empty:
    // the strongest that can.
    [[nodiscard]] Result<Choice> choose(const EnforcedContainer& container,
                                        const std::vector<EnforcedShare>& shares,
                                        std::string_view memory_by = {}) const;
    // As Enforcer::prepare, by all that were chosen. What others prepared for an earlier start of
    // the container is released.
    Result<ContainerEdits> prepare(const Choice& choice, const EnforcedContainer& container,
                                   const std::vector<EnforcedShare>& shares) const;

    // The functions below reach the enforcers that have prepared something for the container or
    // the pod, in this agent or an earlier one.
    // As Enforcer::apply.
    Result<> apply(const EnforcedContainer& container, std::int64_t pid) const;
    [[nodiscard]] EnforcedBy enforced_by(const PodUid& pod, const std::string& container) const;
    // As Enforcer::update. One that fails does not keep the others from it; the first error counts.
    Result<bool> update(const PodUid& pod, const std::string& container,
                        const std::vector<EnforcedShare>& shares) const;
    // As Enforcer::verify; conflict, too, if nothing is prepared for the container.
    [[nodiscard]] Result<> verify(const EnforcedContainer& container, std::int64_t pid) const;
    // Whether verify() can be expected to hold for a container that runs with these mounts. False
    // if it started when shares were not enforced, or with the files of another agent.
    [[nodiscard]] bool has_started_enforced(const PodUid& pod, const std::string& container,
                                            const std::vector<ContainerMount>& mounts) const;
    [[nodiscard]] std::set<PodUid> pods() const;
    [[nodiscard]] bool is_in_use(const PodUid& pod) const;
    void recover(const std::set<PodUid>& known, const std::set<PodUid>& orphans) const;
    void cleanup(const PodUid& pod) const;
    // As ContainerFiles::container_of, by the enforcers inside containers.
    [[nodiscard]] std::optional<std::string> container_of(const PodUid& pod,
                                                          std::int64_t pid) const;

    // If several enforcers measure a container's use of a GPU, the one that limits memory says how
    // much memory is used, and the one that limits compute says how much time.
    [[nodiscard]] ShareUsage usage() const override;

  private:
    [[nodiscard]] Result<Enforcer*> first_for(ShareResource resource,
                                              const EnforcedContainer& container,
                                              const std::vector<EnforcedShare>& shares) const;
    [[nodiscard]] Result<Enforcer*> memory_enforcer(std::string_view name,
                                                    const EnforcedContainer& container,
                                                    const std::vector<EnforcedShare>& shares) const;

    std::vector<Enforcer*> rows_;
};

}  // namespace tessera
