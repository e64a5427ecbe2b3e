// An enforcer that records its calls, and returns one mount per container. Any thread may call the
// functions of the port; a test may use all else only while no such call is running.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ports/enforcer.hpp"

namespace tessera {

class FakeEnforcer final : public Enforcer, public ContainerFiles {
  public:
    explicit FakeEnforcer(std::string name = "fake") : name_(std::move(name)) {}

    // From now on it cannot limit this resource, for this reason.
    void refuse(ShareResource resource, Error error) {
        refusals_.insert_or_assign(resource, std::move(error));
    }
    // The next prepare() or apply() returns this error.
    void refuse_next(Error error) { error_ = std::move(error); }
    // The container has started, with these shares.
    void start(const std::string& pod, const std::string& container,
               std::vector<EnforcedShare> shares, ShareResources what = {true, true}) {
        in_force[pod + "/" + container] = std::move(shares);
        enforced[pod + "/" + container] = what;
    }

    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] std::string fault(ShareResource resource) const override {
        const auto refusal = refusals_.find(resource);
        return refusal == refusals_.end() ? "" : refusal->second.text;
    }
    [[nodiscard]] Result<> can_enforce(ShareResource resource, const EnforcedContainer&,
                                       const std::vector<EnforcedShare>&) const override {
        const auto refusal = refusals_.find(resource);
        if (refusal != refusals_.end()) return fail(refusal->second);
        return {};
    }
    Result<ContainerEdits> prepare(const EnforcedContainer& container,
                                   const std::vector<EnforcedShare>& shares,
                                   ShareResources what) override {
        if (const auto error = std::exchange(error_, std::nullopt)) return fail(*error);
        start(container.pod.str(), container.container, shares, what);
        prepared.push_back(container);
        return ContainerEdits{
            .env = {},
            .cdi_devices = {},
            .mounts = {{.source = "/" + container.container, .destination = "/guard"}}};
    }
    Result<> apply(const EnforcedContainer& container, std::int64_t) override {
        if (const auto error = std::exchange(error_, std::nullopt)) return fail(*error);
        applied.push_back(container);
        return {};
    }
    [[nodiscard]] ShareResources enforces(const PodUid& pod,
                                          const std::string& container) const override {
        const auto what = enforced.find(pod.str() + "/" + container);
        return what == enforced.end() ? ShareResources{} : what->second;
    }
    void release(const PodUid& pod, const std::string& container) override {
        in_force.erase(pod.str() + "/" + container);
        enforced.erase(pod.str() + "/" + container);
    }
    void recover(const std::set<PodUid>& known, const std::set<PodUid>& orphans) override {
        recovered.emplace_back(known, orphans);
    }
    Result<bool> update(const PodUid& pod, const std::string& container,
                        const std::vector<EnforcedShare>& shares) override {
        const std::scoped_lock lock(mutex_);
        const auto at = in_force.find(pod.str() + "/" + container);
        if (at == in_force.end() || at->second == shares) return false;
        at->second = shares;
        return true;
    }
    [[nodiscard]] Result<> verify(const EnforcedContainer& container,
                                  std::int64_t pid) const override {
        if (covered.contains(pid))
            return fail(Code::conflict, "container " + container.container + ": covered");
        if (hidden.contains(pid))
            return fail(Code::unavailable, container.container + ": mounts cannot be checked");
        return {};
    }
    [[nodiscard]] ShareUsage usage() const override { return measured; }
    [[nodiscard]] std::set<PodUid> pods() const override { return kept; }
    [[nodiscard]] bool is_in_use(const PodUid& pod) const override { return in_use.contains(pod); }
    void cleanup(const PodUid& pod) override {
        kept.erase(pod);
        forgotten.push_back(pod);
    }
    [[nodiscard]] const ContainerFiles* files() const override { return this; }

    [[nodiscard]] std::vector<std::string> mount_points() const override {
        return {"/guard", "/etc/ld.so.preload"};
    }
    [[nodiscard]] bool is_ours(const std::string& source) const override {
        return source != "/elsewhere";
    }
    [[nodiscard]] std::optional<std::string> container_of(const PodUid&,
                                                          std::int64_t pid) const override {
        const auto container = containers.find(pid);
        return container == containers.end() ? std::nullopt : std::optional(container->second);
    }

    std::map<std::string, std::vector<EnforcedShare>> in_force;  // by UID/CONTAINER
    std::map<std::string, ShareResources> enforced;              // the same: what it limits
    std::vector<EnforcedContainer> prepared;         // the containers of prepare(), in order
    std::vector<EnforcedContainer> applied;          // the same of apply()
    std::set<std::int64_t> covered;                  // pids whose mounts are covered
    std::set<std::int64_t> hidden;                   // pids whose mounts cannot be read
    std::map<std::int64_t, std::string> containers;  // result of container_of(), by pid
    ShareUsage measured;                             // result of usage()
    std::set<PodUid> in_use;
    std::set<PodUid> kept;
    std::vector<PodUid> forgotten;                                         // by cleanup()
    std::vector<std::pair<std::set<PodUid>, std::set<PodUid>>> recovered;  // known, orphans

  private:
    const std::string name_;
    mutable std::mutex mutex_;
    std::map<ShareResource, Error> refusals_;
    std::optional<Error> error_;
};

}  // namespace tessera
