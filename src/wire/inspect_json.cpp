#include "wire/inspect_json.hpp"

#include "wire/json.hpp"

namespace tessera {
namespace {

// Amounts round up: a native share of 1.5 GiB takes two of a node's GiB.
std::int64_t units_up(Bytes bytes, std::int64_t unit) {
    return (bytes.count + unit - 1) / unit;
}

void write_card(JsonWriter& w, const NodeView& node, std::size_t position) {
    const Gpu& gpu = node.inventory.gpus[position];
    const std::int64_t unit = bytes_per_unit(node.inventory.unit).count;
    w.object([&] {
        w.member("id", gpu.index);
        w.member("totalGPU", gpu.capacity().count / unit);
        w.member("usedGPU", units_up(node.cards[position].held, unit));
        w.array("pods", [&] {
            for (const TenantPtr& tenant : node.tenants) {
                for (const Hold& hold : tenant->holds) {
                    if (hold.uuid != gpu.uuid) continue;
                    w.object([&] {
                        w.member("name", tenant->name.name);
                        w.member("namespace", tenant->name.space);
                        w.member("usedGPU", units_up(hold.memory, unit));
                    });
                }
            }
        });
    });
}

}  // namespace

std::string write_inspect(std::span<const NodeView* const> nodes) {
    JsonWriter w;
    w.object([&] {
        w.array("nodes", [&] {
            for (const NodeView* node : nodes) {
                const std::int64_t unit = bytes_per_unit(node->inventory.unit).count;
                std::int64_t total = 0;
                std::int64_t used = 0;
                for (const Card& card : node->cards) {
                    total += card.capacity.count / unit;
                    used += units_up(card.held, unit);
                }
                // A legacy node says its sum itself, which loses less than its equal cards do.
                const bool legacy = node->inventory.source == InventorySource::legacy;
                if (legacy) total = node->inventory.gpu_mem;
                w.object([&] {
                    w.member("name", node->inventory.name.str());
                    w.member("totalGPU", total);
                    w.member("usedGPU", used);
                    w.array("devs", [&] {
                        for (std::size_t i = 0; i < node->cards.size(); ++i)
                            write_card(w, *node, i);
                    });
                });
            }
        });
    });
    return w.take();
}

}  // namespace tessera
