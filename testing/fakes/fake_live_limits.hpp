// The limits that are enforced for containers, in memory, behind the LiveLimits port. Any thread
// may call the port's functions; a test may use all else only while no such call is running.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ports/live_limits.hpp"

namespace tessera {

class FakeLiveLimits final : public LiveLimits {
  public:
    // The container has started, with these shares.
    void start(const std::string& pod, const std::string& container,
               std::vector<EnforcedShare> shares) {
        held[pod + "/" + container] = std::move(shares);
    }
    void fail_next_keep(Error error) { keep_error_ = std::move(error); }
    // The stored allocation cannot be read until keep() stores one again.
    void spoil() { is_spoiled_ = true; }

    Result<bool> change(const PodUid& pod, const std::string& container,
                        const std::vector<EnforcedShare>& shares) override {
        const std::scoped_lock lock(mutex_);
        const auto at = held.find(pod.str() + "/" + container);
        if (at == held.end() || at->second == shares) return false;
        at->second = shares;
        return true;
    }
    Result<> keep(const Allocation& allocation) override {
        const std::scoped_lock lock(mutex_);
        if (const auto error = std::exchange(keep_error_, std::nullopt)) return fail(*error);
        is_spoiled_ = false;
        ++keeps;
        kept_.insert_or_assign(allocation.pod, allocation);
        return {};
    }
    [[nodiscard]] Result<std::optional<Allocation>> kept(const PodUid& pod) const override {
        const std::scoped_lock lock(mutex_);
        if (is_spoiled_) return fail(Code::corrupt, "allocation.json: not JSON");
        const auto at = kept_.find(pod);
        return at == kept_.end() ? std::optional<Allocation>() : std::optional(at->second);
    }

    std::map<std::string, std::vector<EnforcedShare>> held;  // by UID/CONTAINER
    int keeps = 0;

  private:
    mutable std::mutex mutex_;
    std::map<PodUid, Allocation> kept_;
    std::optional<Error> keep_error_;
    bool is_spoiled_ = false;
};

}  // namespace tessera
