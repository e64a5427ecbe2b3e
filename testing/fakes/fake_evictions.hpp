// An API server that ends pods, behind the Evictions port: it keeps what it was asked, and refuses
// what a test guards. Of one thread.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ports/evictions.hpp"

namespace tessera {

class FakeEvictions final : public Evictions {
  public:
    // By a PodDisruptionBudget.
    void guard(const PodUid& uid) { guarded_.insert(uid); }
    // Every write fails with it from now on.
    void refuse(Error error) { error_ = std::move(error); }
    // Called when a pod is nominated.
    void on_nominate(std::function<void(const PodUid&, const NodeName&)> hook) {
        on_nominate_ = std::move(hook);
    }
    // "nominate POD NODE", "evict POD for POD", in order.
    [[nodiscard]] const std::vector<std::string>& writes() const { return writes_; }

    Result<> may_evict(const PodUid& uid, const PodName& /*pod*/) override {
        if (guarded_.contains(uid)) return fail(Code::unavailable, "its budget forbids it");
        return {};
    }
    Result<> evict(const PodUid& uid, const PodName& pod, const PodName& preemptor) override {
        if (error_) return fail(*error_);
        TRY_VOID(may_evict(uid, pod));
        writes_.push_back("evict " + pod.name + " for " + preemptor.name);
        return {};
    }
    Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node) override {
        if (error_) return fail(*error_);
        writes_.push_back("nominate " + pod.name + " " + node.str());
        if (on_nominate_) on_nominate_(uid, node);
        return {};
    }

  private:
    std::set<PodUid> guarded_;
    std::optional<Error> error_;
    std::vector<std::string> writes_;
    std::function<void(const PodUid&, const NodeName&)> on_nominate_;
};

}  // namespace tessera
