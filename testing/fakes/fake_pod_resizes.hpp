// An API server that keeps pods with versions, behind the PodResizes port, as the real one does: a
// write is for one version of a pod, and makes another. Of one thread.
//
// Faults are given one at a time and are used up by the next write.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ports/pod_resizes.hpp"
#include "wire/allocation_json.hpp"
#include "wire/keys.hpp"
#include "wire/resize_json.hpp"

namespace tessera {

class FakePodResizes final : public PodResizes {
  public:
    void put(const PodFacts& pod) { pods_[pod.name] = {pod, "", "", ++version_}; }
    void remove(const PodName& pod) { pods_.erase(pod); }
    // Somebody else writes: another version.
    void touch(const PodName& pod) { pods_.at(pod).version = ++version_; }
    // A wish, valid or not.
    void set_wish(const PodName& pod, const std::string& text) {
        pods_.at(pod).wish = text;
        touch(pod);
    }
    [[nodiscard]] PodFacts shown(const PodName& pod) const { return facts_of(pods_.at(pod)); }
    [[nodiscard]] std::string refusal(const PodName& pod) const { return pods_.at(pod).refusal; }

    // The next write happens and nobody hears of it; or it does not, and may by land().
    void lose_answer_after_write() { lost_ = Lost::after; }
    void lose_answer_before_write() { lost_ = Lost::before; }
    void land() {
        if (const auto late = std::exchange(late_, {})) std::ignore = late();
    }
    void fail_next_write(Error error) { write_error_ = std::move(error); }
    void fail_next_read(Error error) { read_error_ = std::move(error); }
    // Called before a write is carried out.
    void on_write(std::function<void()> hook) { on_write_ = std::move(hook); }
    // And before a wish is; on_write's is called after it.
    void on_wish(std::function<void()> hook) { on_wish_ = std::move(hook); }
    [[nodiscard]] const std::vector<StringMap>& writes() const { return writes_; }
    [[nodiscard]] int reads() const { return reads_; }

    Result<Shown> read(const PodName& pod) override {
        ++reads_;
        if (const auto error = std::exchange(read_error_, std::nullopt)) return fail(*error);
        const auto at = pods_.find(pod);
        if (at == pods_.end()) return fail(Code::not_found, "pods \"" + pod.name + "\" not found");
        return Shown{facts_of(at->second), std::to_string(at->second.version), at->second.wish,
                     at->second.refusal};
    }
    Result<> write(const PodUid& uid, const PodName& pod, const std::string& version,
                   const StringMap& annotations) override {
        if (const auto hook = std::exchange(on_write_, {})) hook();
        writes_.push_back(annotations);
        if (const auto error = std::exchange(write_error_, std::nullopt)) return fail(*error);
        const auto carry_out = [=, this] { return write_now(uid, pod, version, annotations); };
        const Lost lost = std::exchange(lost_, Lost::no);
        if (lost == Lost::before) {
            late_ = carry_out;
        } else if (auto written = carry_out(); lost == Lost::no) {
            return written;
        }
        return fail(Code::unavailable, "no answer");
    }
    Result<> wish(const PodUid& uid, const PodName& pod, const std::string& version,
                  const std::string& text) override {
        if (const auto hook = std::exchange(on_wish_, {})) hook();
        if (const auto error = std::exchange(write_error_, std::nullopt)) return fail(*error);
        const auto at = pods_.find(pod);
        if (at == pods_.end()) return fail(Code::not_found, "pods \"" + pod.name + "\" not found");
        if (at->second.facts.uid != uid) return fail(Code::conflict, "another uid");
        if (std::to_string(at->second.version) != version)
            return fail(Code::conflict, "another version");
        set_wish(pod, text);
        if (const auto hook = std::exchange(on_write_, {})) hook();
        return {};
    }

  private:
    struct Pod {
        PodFacts facts;
        std::string wish;
        std::string refusal;
        int version = 0;
    };
    enum class Lost { no, after, before };

    static PodFacts facts_of(const Pod& pod) {
        PodFacts facts = pod.facts;
        facts.resize.reset();
        if (!pod.wish.empty() && !is_refusal_of(pod.refusal, pod.wish))
            facts.resize = read_resize_wish(pod.wish);
        return facts;
    }
    Result<> write_now(const PodUid& uid, const PodName& name, const std::string& version,
                       const StringMap& annotations) {
        const auto at = pods_.find(name);
        if (at == pods_.end()) return fail(Code::not_found, "pods \"" + name.name + "\" not found");
        Pod& pod = at->second;
        if (pod.facts.uid != uid || std::to_string(pod.version) != version)
            return fail(Code::conflict, "the object has been modified");
        if (const auto text = annotations.find(key::kAllocation); text != annotations.end())
            pod.facts.allocation = read_allocation(text->second);
        if (const auto text = annotations.find(key::kResizeRefused); text != annotations.end())
            pod.refusal = text->second;
        pod.version = ++version_;
        return {};
    }

    std::map<PodName, Pod> pods_;
    int version_ = 0;
    Lost lost_ = Lost::no;
    std::function<Result<>()> late_;
    std::optional<Error> write_error_;
    std::optional<Error> read_error_;
    std::function<void()> on_write_;
    std::function<void()> on_wish_;
    std::vector<StringMap> writes_;
    int reads_ = 0;
};

}  // namespace tessera
