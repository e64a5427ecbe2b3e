// Tells a pod's user what is hard to see from within a container: that it has reached its GPU
// memory limit, damaged its accounts, or changed the limit that NVIDIA MPS gives it. Its program
// often reports only "out of memory", as if the GPU were full.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <tuple>

#include "ports/kube/pod_events.hpp"
#include "ports/shares/reported_limits.hpp"
#include "ports/shares/share_meter.hpp"

namespace tessera {

// Creates an event for each GPU share of which a container was refused memory: at the first
// refusal, and at the first one after the limit changed. Creates one for damaged accounts, and
// again only after a start of the container replaced them. Creates one for a refused context, once
// for each container. An event is repeated if the agent is
// killed between creating and noting it. Use it from one thread only.
class ShareEvents {
  public:
    static constexpr std::chrono::seconds kPeriod{2};

    // All outlive this.
    ShareEvents(const ShareMeter& shares, ReportedLimits& reported, PodEvents& events)
        : shares_(shares), reported_(reported), events_(events) {}

    // If the API server cannot be reached, the next look tries again. If the server refuses an
    // event (a namespace that is being deleted), only the next agent tries again.
    void look();

  private:
    // Pod, container, the reason, and the GPU if the event is about one.
    using Key = std::tuple<PodUid, std::string, std::string, GpuUuid>;
    // The result of tell_once().
    enum class Telling { reported, done_before, refused, away };

    bool is_news(const ShareUse& use);
    void tell_notice(ContainerNotice notice, const ShareUse& use, const PodEvent& event);
    Telling tell_once(const Key& key, const PodEvent& event);

    const ShareMeter& shares_;
    ReportedLimits& reported_;
    PodEvents& events_;
    bool is_away_ = false;  // in this look
    std::set<Key> done_;    // events that need no repetition while their cause lasts
    std::set<Key> still_;   // the part of done_ whose cause this look found again
};

}  // namespace tessera
