#include "domain/snapshot/cluster_snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.hpp"
#include "base/counted.hpp"
#include "domain/cluster/pod_ask.hpp"
#include "domain/cluster/state.hpp"

namespace tessera {
namespace {

// Bits by the cards' places in the list, of bits by their index in the driver.
std::uint64_t by_place(std::uint64_t by_index, std::span<const Gpu> gpus) {
    std::uint64_t out = 0;
    for (std::size_t place = 0; place < gpus.size() && place <= kMostLinkedIndex; ++place) {
        const int index = gpus[place].index;
        if (index > kMostLinkedIndex) continue;
        if (((by_index >> static_cast<unsigned>(index)) & 1) != 0) out |= std::uint64_t{1} << place;
    }
    return out;
}

std::vector<SnapshotCard> cards_of(const NodeInventory& node) {
    std::vector<SnapshotCard> cards;
    cards.reserve(node.gpus.size());
    for (const Gpu& gpu : node.gpus) {
        const std::size_t place = cards.size();
        const std::uint64_t others =
            ~(place <= kMostLinkedIndex ? std::uint64_t{1} << place : std::uint64_t{0});
        cards.push_back({.model = gpu.model,
                         .memory = gpu.capacity(),
                         .excess = gpu.excess,
                         .healthy = gpu.usable(),
                         .uuid = gpu.uuid,
                         .links = {.numa = gpu.links.numa,
                                   .pcie = by_place(gpu.links.pcie, node.gpus) & others,
                                   .nvlink = by_place(gpu.links.nvlink, node.gpus) & others}});
    }
    return cards;
}

std::vector<SnapshotHolder> holds_of(const Allocation& allocation, const NodeInventory& node) {
    std::vector<SnapshotHolder> holds;
    for (const ContainerAllocation& container : allocation.containers) {
        SnapshotHolder holder{container.kind, {}};
        for (const GpuShare& share : container.gpus) {
            const Gpu* gpu = find_gpu(node.gpus, share.uuid);
            if (gpu == nullptr) continue;
            // What is kept back of a card may have changed since it was given.
            const Bytes most = gpu->capacity();
            const Bytes memory = share.whole ? most : std::min(share.memory, most);
            holder.shares.push_back(
                {static_cast<int>(gpu - node.gpus.data()), memory, share.cores, share.whole});
        }
        if (!holder.shares.empty()) holds.push_back(std::move(holder));
    }
    return holds;
}

struct Asked {
    PodAsk ask;
    CardRuleTexts rules;
};

// Who runs holds its cards whatever its annotations say by now.
Result<Asked> asked_of(PodFacts pod) {
    auto ask = ask_of(pod);
    if (!ask && !pod.node.empty()) {
        pod.card_rules = {};
        pod.policy = {};
        ask = ask_of(pod);
    }
    if (!ask) return fail(ask.error());
    return Asked{*std::move(ask), pod.card_rules};
}

SnapshotPod pod_of(const SeenPod& seen, const Asked& asked) {
    const PodAsk& ask = asked.ask;
    SnapshotPod pod{.name = ask.name,
                    .created = seen.facts.created,
                    .deleted = seen.deleted,
                    .node = seen.facts.node.str(),
                    .host = ask.host,
                    .gang = ask.gang,
                    .chooses_nodes = seen.chooses_nodes,
                    .card_rules = asked.rules,
                    .asks = {},
                    .holds = {}};
    for (const ContainerRequest& container : ask.request) {
        pod.asks.push_back(
            {container.kind, container.gpu.gpus, container.gpu.memory, container.gpu.cores});
    }
    return pod;
}

// Null where it waits to be placed, or is on a node.
int* why_not_waiting(const PodFacts& pod, SnapshotLeftOut& left_out) {
    if (!pod.node.empty()) return nullptr;
    if (pod.terminating) return &left_out.ending;
    return pod.gated ? &left_out.gated : nullptr;
}

// A gang whose size its PodGroup says, which nobody reads here, is all of its pods.
void say_sizes(std::vector<SnapshotPod>& pods) {
    std::map<GangId, int> counts;
    const auto id_of = [](const SnapshotPod& pod) {
        return GangId{pod.name.space, pod.gang->gang};
    };
    for (const SnapshotPod& pod : pods) {
        if (pod.gang) ++counts[id_of(pod)];
    }
    for (SnapshotPod& pod : pods) {
        if (pod.gang && pod.gang->size == 0) pod.gang->size = counts.at(id_of(pod));
    }
}

// Numbers for names, in the order in which they come.
class Numbers {
  public:
    explicit Numbers(std::string what) : what_(std::move(what)) {}

    void replace(std::string& name) {
        if (!name.empty()) name = of(name);
    }
    void replace(GpuUuid& uuid) {
        if (!uuid.empty()) uuid = GpuUuid(of(uuid.str()));
    }
    std::string of(const std::string& name) {
        const auto next = static_cast<int>(numbers_.size()) + 1;
        const int number = numbers_.try_emplace(name, next).first->second;
        return what_ + "-" + std::to_string(number);
    }

  private:
    std::string what_;
    std::map<std::string, int> numbers_;
};

void replace_names(CardRuleTexts& texts, const std::string& space, Numbers& cards,
                   Numbers& groups) {
    for (std::string* group : {&texts.apart, &texts.together}) {
        if (!group->empty()) *group = groups.of(space + "/" + *group);
    }
    const auto rules = parse_card_rules(texts, space);
    TESSERA_CHECK(rules.has_value(), "a snapshot's rules make sense");
    texts.uuids.clear();
    const auto add = [&](const char* before, const GpuUuid& uuid) {
        texts.uuids += (texts.uuids.empty() ? "" : ", ") + (before + cards.of(uuid.str()));
    };
    for (const GpuUuid& uuid : rules->uuids)
        add("", uuid);
    for (const GpuUuid& uuid : rules->barred_uuids)
        add("!", uuid);
}

}  // namespace

ClusterSnapshot snapshot_of(std::span<const SeenNode> nodes, std::span<const SeenPod> pods) {
    ClusterState state;
    for (const SeenNode& node : nodes)
        state.set_node(node.inventory);
    std::map<NodeName, HostAsk> others;
    for (const SeenPod& pod : pods) {
        state.set_pod(pod.facts);
        if (pod.facts.finished || asks_for_gpus(pod.facts)) continue;
        HostAsk& sum = others[pod.facts.node];
        sum.cpu_milli += pod.facts.host.cpu_milli;
        sum.memory += pod.facts.host.memory;
    }
    const auto view = state.view();
    ClusterSnapshot out;
    std::map<PodUid, TenantPtr> tenants;
    std::map<NodeName, const NodeView*> views;
    for (const SeenNode& node : nodes) {
        const NodeInventory& has = node.inventory;
        const NodeView* seen = view->find(has.name.str());
        out.nodes.push_back({.name = has.name.str(),
                             .unit = has.unit,
                             .host = has.host,
                             .others = others[has.name],
                             .closed = node.closed || (seen != nullptr && !seen->blocked.empty()),
                             .cards = cards_of(has)});
        if (seen == nullptr) continue;
        views[has.name] = seen;
        for (const TenantPtr& tenant : seen->tenants)
            tenants[tenant->uid] = tenant;
    }
    for (const SeenPod& pod : pods) {
        if (pod.facts.finished || !asks_for_gpus(pod.facts)) continue;
        if (int* reason = why_not_waiting(pod.facts, out.left_out)) {
            ++*reason;
            continue;
        }
        const auto asked = asked_of(pod.facts);
        if (!asked) {
            ++out.left_out.faulty;
            continue;
        }
        SnapshotPod told = pod_of(pod, *asked);
        const auto on = views.find(pod.facts.node);
        const auto tenant = tenants.find(pod.facts.uid);
        if (on != views.end() && tenant != tenants.end())
            told.holds = holds_of(tenant->second->allocation, on->second->inventory);
        // A pod on a node that is gone, or that holds what nobody can tell, is no question.
        if (!told.node.empty() && told.holds.empty()) {
            ++out.left_out.unknown;
            continue;
        }
        out.pods.push_back(std::move(told));
    }
    say_sizes(out.pods);
    return out;
}

std::string left_out_text(const SnapshotLeftOut& left_out) {
    struct Part {
        int pods;
        std::string_view why;
    };
    std::string parts;
    for (const auto& [pods, why] :
         {Part{left_out.gated, "with scheduling gates"}, Part{left_out.ending, "ending"},
          Part{left_out.faulty, "with a request that makes no sense"},
          Part{left_out.unknown, "on a node, and nobody can tell on which cards"}}) {
        if (pods > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", pods, why);
    }
    if (parts.empty()) return {};
    const int pods = left_out.pods();
    return fmt::format("{} with GPUs {} left out: {}",
                       counted(static_cast<std::size_t>(pods), "pod"), pods == 1 ? "is" : "are",
                       parts);
}

ClusterSnapshot anonymous(ClusterSnapshot snapshot) {
    Numbers nodes("node");
    Numbers spaces("space");
    Numbers pods("pod");
    Numbers gangs("gang");
    Numbers cards("card");
    Numbers groups("group");
    for (SnapshotNode& node : snapshot.nodes) {
        nodes.replace(node.name);
        for (SnapshotCard& card : node.cards)
            cards.replace(card.uuid);
    }
    for (SnapshotPod& pod : snapshot.pods) {
        nodes.replace(pod.node);
        if (pod.gang) {
            pod.gang->gang = pod.name.space + "/" + pod.gang->gang;
            gangs.replace(pod.gang->gang);
        }
        replace_names(pod.card_rules, pod.name.space, cards, groups);
        pod.name.name = pod.name.str();
        pods.replace(pod.name.name);
        spaces.replace(pod.name.space);
    }
    return snapshot;
}

}  // namespace tessera
