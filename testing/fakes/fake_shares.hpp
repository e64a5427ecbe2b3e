// What the agent measures and keeps about GPU shares, in memory. Any thread may call the functions
// of the ports; a test may use all else only while no such call is running.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ports/shares/reported_limits.hpp"
#include "ports/shares/resized_allocations.hpp"
#include "ports/shares/share_meter.hpp"

namespace tessera {

class FakeShareMeter final : public ShareMeter {
  public:
    [[nodiscard]] ShareUsage usage() const override { return {used, unreadable}; }

    std::vector<ShareUse> used;
    std::set<PodUid> unreadable;  // unreadable
};

class FakeReportedLimits final : public ReportedLimits {
  public:
    [[nodiscard]] std::optional<ReportedLimit> reported(const ShareUse& use) const override {
        const auto of = noted.find(container_of(use) + "/" + use.gpu.str());
        return of == noted.end() ? std::nullopt : std::optional(of->second);
    }
    void note_reported(const ShareUse& use, const ReportedLimit& reported) override {
        noted[container_of(use) + "/" + use.gpu.str()] = reported;
    }
    [[nodiscard]] bool is_reported(ContainerNotice notice, const ShareUse& use) const override {
        return notices.contains({notice, container_of(use)});
    }
    void note_reported(ContainerNotice notice, const ShareUse& use, bool is_reported) override {
        const std::pair key(notice, container_of(use));
        is_reported ? void(notices.insert(key)) : void(notices.erase(key));
    }

    std::map<std::string, ReportedLimit> noted;                 // by UID/CONTAINER/gpu
    std::set<std::pair<ContainerNotice, std::string>> notices;  // by UID/CONTAINER

  private:
    static std::string container_of(const ShareUse& use) {
        return use.pod.str() + "/" + use.container;
    }
};

class FakeResizedAllocations final : public ResizedAllocations {
  public:
    void fail_next_keep(Error error) { keep_error_ = std::move(error); }
    // The stored allocation cannot be read until keep() stores one again.
    void spoil() { is_spoiled_ = true; }

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

    int keeps = 0;

  private:
    mutable std::mutex mutex_;
    std::map<PodUid, Allocation> kept_;
    std::optional<Error> keep_error_;
    bool is_spoiled_ = false;
};

}  // namespace tessera
