// A fake API server with versioned pods, behind the PodResizes port. As in the real one, a write
// names one version of a pod, and makes a new version. Not thread-safe.
//
// Only one fault is set at a time, and the next write uses it up.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ports/kube/pod_resizes.hpp"
#include "wire/tessera/allocation_json.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/tessera/resize_json.hpp"

namespace tessera {

class FakePodResizes final : public PodResizes {
  public:
    void put(const PodInfo& pod) { pods_[pod.name] = {pod, "", "", ++version_}; }
    void remove(const PodName& pod) { pods_.erase(pod); }
    // Simulates another writer: the pod gets a new version.
    void touch(const PodName& pod) { pods_.at(pod).version = ++version_; }
    // Sets the resize request, which may be invalid.
    void set_resize_request(const PodName& pod, const std::string& text) {
        pods_.at(pod).requested = text;
        touch(pod);
    }
    [[nodiscard]] PodInfo shown(const PodName& pod) const { return info_of(pods_.at(pod)); }
    [[nodiscard]] std::string refusal(const PodName& pod) const { return pods_.at(pod).refusal; }

    // The response to the next write is lost. The write takes effect (after_write), or it takes
    // effect only when land() is called (before_write).
    void lose_answer_after_write() { lost_ = Lost::after; }
    void lose_answer_before_write() { lost_ = Lost::before; }
    void land() {
        if (const auto late = std::exchange(late_, {})) std::ignore = late();
    }
    void fail_next_write(Error error) { write_error_ = std::move(error); }
    void fail_next_read(Error error) { read_error_ = std::move(error); }
    // Called once, before the next write takes effect.
    void on_write(std::function<void()> hook) { on_write_ = std::move(hook); }
    // Called once, before the next request() takes effect. The hook of on_write is called after it.
    void on_resize_request(std::function<void()> hook) { on_resize_request_ = std::move(hook); }
    [[nodiscard]] const std::vector<StringMap>& writes() const { return writes_; }
    [[nodiscard]] int reads() const { return reads_; }

    Result<Shown> read(const PodName& pod) override {
        ++reads_;
        if (const auto error = std::exchange(read_error_, std::nullopt)) return fail(*error);
        const auto at = pods_.find(pod);
        if (at == pods_.end()) return fail(Code::not_found, "pods \"" + pod.name + "\" not found");
        return Shown{info_of(at->second), std::to_string(at->second.version), at->second.requested,
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
    Result<> request(const PodUid& uid, const PodName& pod, const std::string& version,
                     const std::string& text) override {
        if (const auto hook = std::exchange(on_resize_request_, {})) hook();
        if (const auto error = std::exchange(write_error_, std::nullopt)) return fail(*error);
        const auto at = pods_.find(pod);
        if (at == pods_.end()) return fail(Code::not_found, "pods \"" + pod.name + "\" not found");
        if (at->second.info.uid != uid) return fail(Code::conflict, "another uid");
        if (std::to_string(at->second.version) != version)
            return fail(Code::conflict, "another version");
        set_resize_request(pod, text);
        if (const auto hook = std::exchange(on_write_, {})) hook();
        return {};
    }

  private:
    struct Pod {
        PodInfo info;
        std::string requested;
        std::string refusal;
        int version = 0;
    };
    enum class Lost { no, after, before };

    static PodInfo info_of(const Pod& pod) {
        PodInfo info = pod.info;
        info.resize.reset();
        if (!pod.requested.empty() && !is_refusal_of(pod.refusal, pod.requested))
            info.resize = read_resize_request(pod.requested);
        return info;
    }
    Result<> write_now(const PodUid& uid, const PodName& name, const std::string& version,
                       const StringMap& annotations) {
        const auto at = pods_.find(name);
        if (at == pods_.end()) return fail(Code::not_found, "pods \"" + name.name + "\" not found");
        Pod& pod = at->second;
        if (pod.info.uid != uid || std::to_string(pod.version) != version)
            return fail(Code::conflict, "the object has been modified");
        if (const auto text = annotations.find(key::kAllocation); text != annotations.end())
            pod.info.allocation = read_allocation(text->second);
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
    std::function<void()> on_resize_request_;
    std::vector<StringMap> writes_;
    int reads_ = 0;
};

}  // namespace tessera
