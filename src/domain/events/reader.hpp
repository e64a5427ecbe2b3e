// Which pods a text may name. What a pod's own events and conditions say is read by the
// users of its namespace, and Kubernetes keeps the pods of other namespaces from them: their names
// and priorities are left out. This is the only place that decides it (docs/limits.md, "Control
// plane"). Logs, `tessera doctor` and `tessera explain` are for readers who see all pods anyway:
// of the log, by the rights on tessera-system; of the commands, by their own RBAC.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.hpp"

namespace tessera {

class Reader {
  public:
    // The users of a namespace. It outlives the reader.
    static Reader of(std::string_view space) { return Reader(space, false); }
    // A reader who may list the pods of all namespaces.
    static Reader of_all() { return Reader({}, true); }

    [[nodiscard]] bool sees(const PodName& pod) const { return sees_all_ || pod.space == space_; }
    // "pod default/a", or "a pod of another namespace".
    [[nodiscard]] std::string words_for(const PodName& pod) const {
        return sees(pod) ? "pod " + pod.str() : "a pod of another namespace";
    }

  private:
    Reader(std::string_view space, bool sees_all) : space_(space), sees_all_(sees_all) {}

    std::string_view space_;
    bool sees_all_;
};

}  // namespace tessera
