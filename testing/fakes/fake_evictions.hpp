// A fake API server behind the Evictions port: it records the writes, and refuses the evictions
// that the test forbids. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ports/kube/evictions.hpp"

namespace tessera {

class FakeEvictions final : public Evictions {
  public:
    // A PodDisruptionBudget protects this pod.
    void guard(const PodUid& uid) { guarded_.insert(uid); }
    // A PodDisruptionBudget allows this number of evictions of these pods in total.
    void allow(const std::set<PodUid>& uids, int evictions) {
        shared_ = uids;
        allowed_ = evictions;
    }
    // The pod ended by itself, and the watch has not shown it yet.
    void remove(const PodUid& uid) { gone_.insert(uid); }
    // The next eviction takes effect, but its response is lost.
    void lose_answer() { is_answer_lost_ = true; }
    // Every call fails with this error from now on; std::nullopt ends that.
    void fail_with(std::optional<Error> error) { error_ = std::move(error); }
    // Called before each eviction.
    void on_evict(std::function<void(const PodName&)> hook) { on_evict_ = std::move(hook); }
    // Called with the nomination that the watch will show.
    void on_nominate(std::function<void(const PodUid&, const NodeName&)> hook) {
        on_nominate_ = std::move(hook);
    }
    // "evict POD", "mark POD for POD", "nominate POD NODE", "clear POD", in order.
    [[nodiscard]] const std::vector<std::string>& writes() const { return writes_; }
    [[nodiscard]] int questions() const { return questions_; }

    Result<bool> may_evict(const PodUid& uid, const PodName& /*pod*/) override {
        ++questions_;
        if (error_) return fail(*error_);
        if (gone_.contains(uid)) return fail(Code::not_found, "pod not found");
        return !guarded_.contains(uid) && (!shared_.contains(uid) || allowed_ > 0);
    }
    Result<bool> evict(const PodUid& uid, const PodName& pod) override {
        if (on_evict_) on_evict_(pod);
        TRY(const bool may, may_evict(uid, pod));
        if (!may) return false;
        if (shared_.contains(uid)) --allowed_;
        writes_.push_back("evict " + pod.name);
        if (std::exchange(is_answer_lost_, false)) return fail(Code::unavailable, "no answer");
        return true;
    }
    Result<> mark_preempted(const PodUid& /*uid*/, const PodName& pod,
                            const PodName& preemptor) override {
        if (error_) return fail(*error_);
        writes_.push_back("mark " + pod.name + " for " + preemptor.name);
        return {};
    }
    Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node) override {
        if (error_) return fail(*error_);
        if (on_nominate_) on_nominate_(uid, node);
        writes_.push_back("nominate " + pod.name + " " + node.str());
        return {};
    }
    Result<> nominate_ahead(const PodUid& uid, const PodName& pod, const NodeName& node) override {
        return nominate(uid, pod, node);
    }
    Result<> withdraw(const PodUid& uid, const PodName& pod, const NodeName& /*node*/) override {
        if (error_) return fail(*error_);
        if (on_nominate_) on_nominate_(uid, NodeName());
        writes_.push_back("clear " + pod.name);
        return {};
    }

  private:
    std::set<PodUid> guarded_;
    std::set<PodUid> gone_;
    std::set<PodUid> shared_;
    int allowed_ = 0;
    bool is_answer_lost_ = false;
    int questions_ = 0;
    std::optional<Error> error_;
    std::vector<std::string> writes_;
    std::function<void(const PodName&)> on_evict_;
    std::function<void(const PodUid&, const NodeName&)> on_nominate_;
};

}  // namespace tessera
