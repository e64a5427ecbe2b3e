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

class FakeEnforcer final : public Enforcer {
  public:
    void refuse_next(Error error) { error_ = std::move(error); }
    // The container has started, with these shares.
    void start(const std::string& pod, const std::string& container,
               std::vector<EnforcedShare> shares) {
        held[pod + "/" + container] = std::move(shares);
    }

    [[nodiscard]] std::vector<std::string> mount_points() const override {
        return {"/guard", "/etc/ld.so.preload"};
    }
    [[nodiscard]] bool is_ours(const std::string& source) const override {
        return source != "/elsewhere";
    }
    [[nodiscard]] Result<> check_mounted(const EnforcedContainer& container,
                                         std::int64_t pid) const override {
        if (covered.contains(pid))
            return fail(Code::conflict, "container " + container.container + ": covered");
        if (hidden.contains(pid))
            return fail(Code::unavailable, container.container + ": mounts cannot be checked");
        return {};
    }
    [[nodiscard]] std::optional<std::string> container_of(const PodUid&,
                                                          std::int64_t pid) const override {
        const auto container = containers.find(pid);
        return container == containers.end() ? std::nullopt : std::optional(container->second);
    }
    Result<std::vector<FileMount>> hold(const EnforcedContainer& container,
                                        const std::vector<EnforcedShare>& shares) override {
        if (const auto error = std::exchange(error_, std::nullopt)) return fail(*error);
        held[container.pod.str() + "/" + container.container] = shares;
        names.push_back(container.name);
        preload_lists.push_back(container.preload_list);
        return std::vector<FileMount>{
            {.source = "/" + container.container, .destination = "/guard"}};
    }
    Result<bool> update(const PodUid& pod, const std::string& container,
                        const std::vector<EnforcedShare>& shares) override {
        const std::scoped_lock lock(mutex_);
        const auto at = held.find(pod.str() + "/" + container);
        if (at == held.end() || at->second == shares) return false;
        at->second = shares;
        return true;
    }
    [[nodiscard]] std::set<PodUid> pods() const override { return kept; }
    void forget(const PodUid& pod) override {
        kept.erase(pod);
        forgotten.push_back(pod);
    }
    [[nodiscard]] bool is_in_use(const PodUid& pod) const override { return in_use.contains(pod); }

    std::map<std::string, std::vector<EnforcedShare>> held;  // by UID/CONTAINER
    std::vector<PodName> names;                              // the pods of hold(), in order
    std::vector<std::string> preload_lists;                  // the same, their preload lists
    std::set<std::int64_t> covered;                          // pids whose mounts are covered
    std::set<std::int64_t> hidden;                           // pids whose mounts cannot be read
    std::map<std::int64_t, std::string> containers;          // result of container_of(), by pid
    std::set<PodUid> in_use;
    std::set<PodUid> kept;
    std::vector<PodUid> forgotten;

  private:
    mutable std::mutex mutex_;
    std::optional<Error> error_;
};

}  // namespace tessera
