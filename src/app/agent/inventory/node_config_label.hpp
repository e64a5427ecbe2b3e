// Which of the agent's configurations its Node chooses by the label tessera.dev/agent-config.
#pragma once

#include <functional>
#include <set>
#include <stop_token>
#include <string>

#include "base/mutex.hpp"
#include "base/string_map.hpp"
#include "ports/clock.hpp"
#include "ports/kube/kube_api.hpp"

namespace tessera {

class NodeConfigLabel {
  public:
    // `names`: of all configurations. `changed` is called once, when the label chooses another
    // configuration than the agent uses, or none instead of one.
    NodeConfigLabel(std::set<std::string> names, std::function<void()> changed);

    // Waits until the Node has no such label, or one that names a configuration, or until `stop`.
    // Returns the name; empty: no configuration. If the API server does not answer, this waits for
    // it, because another configuration may share a GPU that this one excludes. Without any
    // configuration it does not wait for the server. It reads the Node every five seconds.
    std::string wait(KubeApi& kube, const NodeName& node, Clock& clock,
                     const std::stop_token& stop);

    // The Node's labels, as read now, after wait(). False once they have chosen another
    // configuration: what the agent knows must not be published any more. A label that names no
    // configuration changes nothing, except that the agent is not ready: one typing error does not
    // stop a node.
    bool take(const StringMap& labels);

    // unavailable if the Node's label names no configuration, with the fix. Any thread.
    [[nodiscard]] Result<> ready() const;

  private:
    // The name in the label; an error if there is no such configuration.
    [[nodiscard]] Result<std::string> read(const StringMap& labels) const;
    void report(const Result<std::string>& name);

    const std::set<std::string> names_;
    const std::function<void()> changed_;
    mutable Mutex mutex_;
    std::string used_ TESSERA_GUARDED_BY(mutex_);
    std::string fault_ TESSERA_GUARDED_BY(mutex_);
    bool is_changed_ TESSERA_GUARDED_BY(mutex_) = false;
};

}  // namespace tessera
