#include "app/cli/share_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "app/cli/tab_writer.hpp"

namespace tessera {
namespace {

using Key = std::tuple<PodUid, std::string, GpuUuid>;

Key key_of(const ShareUse& use) {
    return {use.pod, use.container, use.card};
}

std::map<Key, std::int64_t> kernels_of(std::span<const NodeShareUses> nodes) {
    std::map<Key, std::int64_t> kernels;
    for (const NodeShareUses& node : nodes) {
        for (const ShareUse& use : node.shares)
            kernels[key_of(use)] = use.kernels_ns;
    }
    return kernels;
}

int index_of(std::span<const NodeUsage> nodes, const NodeName& name, const GpuUuid& card) {
    for (const NodeUsage& node : nodes) {
        if (node.inventory.name != name) continue;
        const auto gpu = std::ranges::find(node.inventory.gpus, card, &Gpu::uuid);
        if (gpu != node.inventory.gpus.end()) return gpu->index;
    }
    return -1;
}

std::int64_t percent_used(const ShareUse& use) {
    return use.held.count / kMiB * 100 / std::max<std::int64_t>(use.limit.count / kMiB, 1);
}

std::string or_dash(bool is_known, const auto& value) {
    return is_known ? fmt::format("{}", value) : "-";
}

}  // namespace

std::vector<ShareLine> share_lines(std::span<const NodeUsage> nodes,
                                   std::span<const NodeShareUses> now,
                                   std::span<const NodeShareUses> before, std::int64_t ns) {
    const auto earlier = kernels_of(before);
    std::vector<ShareLine> lines;
    for (const NodeShareUses& node : now) {
        for (const ShareUse& use : node.shares) {
            ShareLine line{node.node, index_of(nodes, node.node, use.card), use, {}};
            const auto was = earlier.find(key_of(use));
            // No time at all: the card's is not shared out, so nobody measures it.
            if (was != earlier.end() && ns > 0 && use.kernels_ns > 0) {
                const std::int64_t worked = std::max<std::int64_t>(use.kernels_ns - was->second, 0);
                line.busy = static_cast<int>(std::min<std::int64_t>(worked / (ns / 100 + 1), 100));
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
        "NODE\tGPU\tPOD\tCONTAINER\tPID\tUSED\tLIMIT\tUSED%\tCORES%\tBUSY%\tREFUSED\n";
    for (const ShareLine& line : lines) {
        const ShareUse& use = line.use;
        const bool has_name = !use.name.name.empty();
        const std::string where =
            fmt::format("{}\t{}\t{}\t{}", line.node.str(), or_dash(line.gpu >= 0, line.gpu),
                        has_name ? use.name.str() : use.pod.str(), use.container);
        out += fmt::format("{}\t\t{}\t{}\t{}\t{}\t{}\t{}\n", where, to_string(use.held),
                           to_string(use.limit), percent_used(use),
                           or_dash(use.cores.value > 0, use.cores.value),
                           or_dash(line.busy.has_value(), line.busy.value_or(0)), use.refusals);
        for (const ProcessUse& process : use.processes)
            out +=
                fmt::format("{}\t{}\t{}\t\t\t\t\t\n", where, process.pid, to_string(process.held));
    }
    return align_tabs(out);
}

void write_shares(JsonWriter& w, std::span<const ShareLine> lines) {
    w.array("shares", [&] {
        for (const ShareLine& line : lines) {
            const ShareUse& use = line.use;
            w.object([&] {
                w.member("node", line.node.str());
                if (line.gpu >= 0) w.member("index", line.gpu);
                w.member("uuid", use.card.str());
                w.member("namespace", use.name.space);
                w.member("name", use.name.name);
                w.member("podUid", use.pod.str());
                w.member("container", use.container);
                w.member("usedBytes", use.held.count);
                w.member("limitBytes", use.limit.count);
                w.member("coresPercent", use.cores.value);
                if (line.busy) w.member("busyPercent", *line.busy);
                w.member("refusals", use.refusals);
                w.array("processes", [&] {
                    for (const ProcessUse& process : use.processes) {
                        w.object([&] {
                            w.member("pid", process.pid);
                            w.member("usedBytes", process.held.count);
                        });
                    }
                });
            });
        }
    });
}

}  // namespace tessera
