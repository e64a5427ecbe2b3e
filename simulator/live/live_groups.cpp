#include "simulator/live/live_groups.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace tessera {
namespace {

struct Gang {
    LiveGroup waiting;
    LiveGroup all;
    int running = 0;
    std::size_t left = 0;  // number of its pods that are still to come
};

}  // namespace

LiveGroups groups_of(const ClusterDump& dump, std::span<const std::size_t> rows) {
    std::map<std::pair<std::string, std::string>, Gang> gangs;  // by namespace and name
    const auto gang_of = [&](const DumpPod& pod) -> Gang* {
        return pod.gang ? &gangs[{pod.name.ns, pod.gang->gang}] : nullptr;
    };
    for (const DumpPod& pod : dump.pods) {
        if (Gang* gang = gang_of(pod)) gang->running += pod.node.empty() ? 0 : 1;
    }
    for (const std::size_t row : rows) {
        if (Gang* gang = gang_of(dump.pods[row])) ++gang->left;
    }
    LiveGroups out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const DumpPod& pod = dump.pods[rows[i]];
        const bool waits = pod.node.empty();
        Gang* gang = gang_of(pod);
        if (gang == nullptr) {
            if (waits) out.waiting.push_back({{i}, 1});
            out.all.push_back({{i}, 1});
            continue;
        }
        gang->all.pods.push_back(i);
        gang->all.size = gang->running > 0 ? 1 : pod.gang->size;
        if (waits) gang->waiting.pods.push_back(i);
        gang->waiting.size = std::max(pod.gang->size - gang->running, 1);
        if (--gang->left > 0) continue;
        out.all.push_back(gang->all);
        if (!gang->waiting.pods.empty()) out.waiting.push_back(gang->waiting);
    }
    return out;
}

}  // namespace tessera
