#include "app/cli/share_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "app/cli/tab_writer.hpp"

namespace tessera {
namespace {

using Key = std::tuple<PodUid, std::string, GpuUuid>;

Key key_of(const ShareUse& use) {
    return {use.pod, use.container, use.gpu};
}

std::map<Key, const ShareUse*> by_key(std::span<const NodeShareUses> nodes) {
    std::map<Key, const ShareUse*> uses;
    for (const NodeShareUses& node : nodes) {
        for (const ShareUse& use : node.shares)
            uses[key_of(use)] = &use;
    }
    return uses;
}

const NodeUsage* find_node(std::span<const NodeUsage> nodes, const NodeName& name) {
    const auto node =
        std::ranges::find(nodes, name, [](const NodeUsage& n) { return n.inventory.name; });
    return node == nodes.end() ? nullptr : &*node;
}

int index_of(const NodeUsage* node, const GpuUuid& uuid) {
    if (node == nullptr) return -1;
    const auto gpu = std::ranges::find(node->inventory.gpus, uuid, &Gpu::uuid);
    return gpu == node->inventory.gpus.end() ? -1 : gpu->index;
}

bool is_over(const NodeUsage* node, const PodUid& pod) {
    return node != nullptr &&
           std::ranges::find(node->pods, pod, &PodUsage::uid) == node->pods.end();
}

// The kind of work (kernels or copies) of which more was done, because each is limited by itself.
// Nothing if the agent restarted in between.
std::optional<int> percent_of(const GpuTime& now, const GpuTime& before, std::int64_t ns) {
    const std::int64_t kernels = now.kernels_ns - before.kernels_ns;
    const std::int64_t copies = now.copies_ns - before.copies_ns;
    if (kernels < 0 || copies < 0) return std::nullopt;
    const double part = static_cast<double>(std::max(kernels, copies)) / static_cast<double>(ns);
    return static_cast<int>(std::lround(std::min(part, 1.0) * 100));
}

std::int64_t percent_used(const ShareUse& use) {
    return use.used.count / kMiB * 100 / std::max<std::int64_t>(use.limit.count / kMiB, 1);
}

std::string or_dash(bool is_known, const auto& value) {
    return is_known ? fmt::format("{}", value) : "-";
}

}  // namespace

std::vector<ShareLine> share_lines(std::span<const NodeUsage> nodes,
                                   std::span<const NodeShareUses> now,
                                   std::span<const NodeShareUses> before, std::int64_t ns) {
    const auto earlier = by_key(before);
    std::vector<ShareLine> lines;
    for (const NodeShareUses& node : now) {
        const NodeUsage* shown = find_node(nodes, node.node);
        for (const ShareUse& use : node.shares) {
            if (is_over(shown, use.pod)) continue;
            ShareLine line{node.node, index_of(shown, use.gpu), use, {}, {}};
            const auto was = earlier.find(key_of(use));
            if (was != earlier.end() && ns > 0 && use.is_timed) {
                line.time = percent_of(use.had, was->second->had, ns);
                line.busy = percent_of(use.in_flight, was->second->in_flight, ns);
            }
            lines.push_back(std::move(line));
        }
    }
    std::ranges::stable_sort(lines, std::greater{},
                             [](const ShareLine& line) { return percent_used(line.use); });
    return lines;
}

std::string share_table(std::span<const ShareLine> lines) {
    std::string out =
        "NODE\tGPU\tPOD\tCONTAINER\tPID\tUSED\tLIMIT\tUSED%\tCORES%\tCORES-LIMIT%\tTIME%"
        "\tREFUSED\n";
    for (const ShareLine& line : lines) {
        const ShareUse& use = line.use;
        const bool has_name = !use.name.name.empty();
        const std::string where =
            fmt::format("{}\t{}\t{}\t{}", line.node.str(), or_dash(line.gpu >= 0, line.gpu),
                        has_name ? use.name.str() : use.pod.str(), use.container);
        const bool is_known = !use.is_damaged;
        out += fmt::format(
            "{}\t\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", where,
            is_known ? rounded_up(use.used) : "damaged", rounded_up(use.limit),
            or_dash(is_known, percent_used(use)), or_dash(use.cores.value > 0, use.cores.value),
            or_dash(use.cores_limit < kNoCoresLimit, use.cores_limit.value),
            or_dash(line.time.has_value(), line.time.value_or(0)), or_dash(is_known, use.refusals));
        for (const ProcessUse& process : use.processes) {
            if (process.used == Bytes{}) continue;
            out += fmt::format("{}\t{}\t{}\t\t\t\t\t\t\n", where, process.pid,
                               rounded_up(process.used));
        }
    }
    return align_tabs_and_trim(out);
}

void write_shares(JsonWriter& w, std::span<const ShareLine> lines) {
    w.array("shares", [&] {
        for (const ShareLine& line : lines) {
            const ShareUse& use = line.use;
            w.object([&] {
                w.member("node", line.node.str());
                if (line.gpu >= 0) w.member("index", line.gpu);
                w.member("uuid", use.gpu.str());
                w.member("namespace", use.name.ns);
                w.member("name", use.name.name);
                w.member("podUid", use.pod.str());
                w.member("container", use.container);
                w.member("usedBytes", use.used.count);
                w.member("limitBytes", use.limit.count);
                w.member("coresPercent", use.cores.value);
                w.member("coresLimitPercent", use.cores_limit.value);
                if (line.time) w.member("timePercent", *line.time);
                if (line.busy) w.member("busyPercent", *line.busy);
                w.member("refusals", use.refusals);
                w.member("damaged", use.is_damaged);
                w.array("processes", [&] {
                    for (const ProcessUse& process : use.processes) {
                        w.object([&] {
                            w.member("pid", process.pid);
                            w.member("usedBytes", process.used.count);
                        });
                    }
                });
            });
        }
    });
}

}  // namespace tessera
