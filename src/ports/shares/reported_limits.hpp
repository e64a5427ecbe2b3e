// What was reported to a pod's user about the limits of its containers. It survives the agent, so
// that the next agent does not create the same event again. It is kept until Enforcer::cleanup of
// the pod.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "base/quantity.hpp"
#include "domain/usage/share_use.hpp"

namespace tessera {

// What was reported about a container's limit on a GPU.
struct ReportedLimit {
    static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

    Bytes limit;
    // This number of refusals is already reported. kAll: no refusal is to be reported.
    std::int64_t refusals = 0;

    friend bool operator==(const ReportedLimit&, const ReportedLimit&) = default;
};

// What is reported once for a container, while its cause lasts.
enum class ContainerNotice { damaged_accounts, refused_context };

// A failed write is logged, and the event may then be repeated by the next agent. Of a ShareUse
// only pod, container and GPU are read. Any thread may call; one thread writes.
class ReportedLimits {
  public:
    virtual ~ReportedLimits() = default;

    // By pod, container and GPU. Nothing if nothing was noted, or if it cannot be read.
    [[nodiscard]] virtual std::optional<ReportedLimit> reported(const ShareUse& use) const = 0;
    virtual void note_reported(const ShareUse& use, const ReportedLimit& reported) = 0;
    // The same for notices, by pod and container.
    [[nodiscard]] virtual bool is_reported(ContainerNotice notice, const ShareUse& use) const = 0;
    virtual void note_reported(ContainerNotice notice, const ShareUse& use, bool is_reported) = 0;
};

}  // namespace tessera
