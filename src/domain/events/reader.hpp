// Which pods a text may name. The users of a namespace read the events and conditions of their
// pods, and Kubernetes hides the pods of other namespaces from them. Such texts therefore leave out
// the names and priorities of those pods. Only this file decides it (docs/limits.md, "Control
// plane"). Logs, `tessera doctor` and `tessera explain` may name all pods: their readers have
// permission to see them, by their access to tessera-system or by their own RBAC.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.hpp"

namespace tessera {

class Reader {
  public:
    // The users of a namespace. `ns` must outlive the reader.
    static Reader of(std::string_view ns) { return Reader(ns, false); }
    // A reader that may list the pods of all namespaces.
    static Reader of_all() { return Reader({}, true); }

    [[nodiscard]] bool sees(const PodName& pod) const { return sees_all_ || pod.ns == ns_; }
    // "pod default/a", or "a pod of another namespace".
    [[nodiscard]] std::string words_for(const PodName& pod) const {
        return sees(pod) ? "pod " + pod.str() : "a pod of another namespace";
    }

  private:
    Reader(std::string_view ns, bool sees_all) : ns_(ns), sees_all_(sees_all) {}

    std::string_view ns_;
    bool sees_all_;
};

}  // namespace tessera
