// Applications with a maximum number of instances per node, while tasks are placed and removed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace tessera {

struct NodeCap {
    std::int32_t app = -1;  // number of the application; -1: no cap
    std::int32_t most = 0;  // maximum on one node

    friend bool operator==(const NodeCap&, const NodeCap&) = default;
};

// Uses one thread.
class NodeCaps {
  public:
    // The nodes that can take no more instances of the application, in no order. Valid until the
    // next change.
    [[nodiscard]] std::span<const std::uint32_t> full(const NodeCap& cap) const {
        const auto app = apps_.find(cap.app);
        return app == apps_.end() ? std::span<const std::uint32_t>() : app->second.full;
    }
    // All instances of an application have the same cap.
    void add(const NodeCap& cap, std::size_t node) {
        if (cap.app < 0) return;
        App& app = apps_[cap.app];
        if (++app.on[node] == cap.most) app.full.push_back(static_cast<std::uint32_t>(node));
    }
    void remove(const NodeCap& cap, std::size_t node) {
        if (cap.app < 0) return;
        App& app = apps_[cap.app];
        if (app.on[node]-- == cap.most) std::erase(app.full, static_cast<std::uint32_t>(node));
    }

  private:
    struct App {
        std::unordered_map<std::size_t, int> on;  // number of instances, by node
        std::vector<std::uint32_t> full;
    };
    std::map<std::int32_t, App> apps_;
};

}  // namespace tessera
