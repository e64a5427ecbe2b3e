#include "app/scheduler/filter/node_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "app/scheduler/filter/diagnosis.hpp"
#include "domain/placement/node_price.hpp"
#include "domain/placement/nominees.hpp"
#include "domain/placement/place.hpp"

namespace tessera {
namespace {

// kube-scheduler's scale is 0 to 10. The gap keeps the best node first when kube-scheduler's own
// scorers, most of which prefer the emptiest node, add their scores (scheduler-config.yaml of the
// Helm chart has the weight).
constexpr int kBestScore = 10;
constexpr int kSecondScore = 7;

constexpr NodePrice kNoFit{std::numeric_limits<std::int64_t>::max(), 0};

bool is_unrated(const NodePrice& price) {
    return price.first == -NodeScorer::kLast;
}

// Up to this many nodes are priced one by one, in the order of the request.
constexpr std::size_t kFew = 64;

// The price for the pod that `placer` places; kNoFit if it does not fit.
NodePrice price_of(Placer& placer, const Snapshot& snapshot, std::uint32_t position,
                   const PodToPlace& pod) {
    const PlacementRow& row = snapshot.row(position);
    std::optional<std::int64_t> price;
    if (!row.has_nominees || !row.open) {
        price = placer.price(row, snapshot.free_of(position));
    } else if (const Assignment* assignment = try_left(placer, *row.node, pod)) {
        price = assignment->price;
    }
    return price ? price_of_assignment(*price, row.spare) : kNoFit;
}

// Replaces the prices of the fitting nodes by the scorer's. Parallel to positions.
void score(const Snapshot& snapshot, std::span<const std::uint32_t> positions,
           const PodRequest& pod, const NodeScorer& scorer, std::vector<NodePrice>& prices) {
    std::vector<std::uint32_t> fitting;
    fitting.reserve(positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (prices[i] != kNoFit) fitting.push_back(positions[i]);
    }
    const auto scores = scorer.score(snapshot, fitting, pod);
    auto score = scores.begin();
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (prices[i] == kNoFit) continue;
        prices[i] = price_of_score(*score++, prices[i].first, positions[i]);
    }
}

// For many nodes, by position. kube-scheduler names nodes in its own order, and fetching their rows
// and GPUs from all over the memory costs more than pricing them. So they are priced in the order
// of memory (extender_bench).
std::vector<NodePrice> prices_by_position(Placer& placer, const Snapshot& snapshot,
                                          std::span<const std::uint32_t> positions,
                                          const PodRequest& pod, const NodeScorer* scorer) {
    std::vector<char> is_named(snapshot.places());
    for (const std::uint32_t position : positions) {
        if (position != NameIndex::kNone) is_named[position] = 1;
    }
    std::vector<NodePrice> prices(is_named.size(), kNoFit);
    for (std::uint32_t position = 0; position < is_named.size(); ++position) {
        if (is_named[position] == 0) continue;
        prices[position] = price_of(placer, snapshot, position, to_place(pod));
    }
    if (scorer == nullptr) return prices;
    std::vector<std::uint32_t> all(prices.size());
    std::iota(all.begin(), all.end(), 0);
    score(snapshot, all, pod, *scorer, prices);
    return prices;
}

// Parallel to positions.
std::vector<NodePrice> prices_of(Placer& placer, const Snapshot& snapshot,
                                 std::span<const std::uint32_t> positions, const PodRequest& pod,
                                 const NodeScorer* scorer) {
    std::vector<NodePrice> prices(positions.size(), kNoFit);
    const bool are_few = positions.size() <= kFew;
    const auto all = are_few ? std::vector<NodePrice>{}
                             : prices_by_position(placer, snapshot, positions, pod, scorer);
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (positions[i] == NameIndex::kNone) continue;
        prices[i] =
            are_few ? price_of(placer, snapshot, positions[i], to_place(pod)) : all[positions[i]];
    }
    if (are_few && scorer != nullptr) score(snapshot, positions, pod, *scorer, prices);
    return prices;
}

// For a pod that is asked about again while its Binding is under way or uncertain: it has its GPUs.
FilterAnswer only_on(const NodeName& node, const ExtenderArgs& args) {
    FilterAnswer answer;
    for (std::size_t i = 0; i < args.names.size(); ++i) {
        if (args.names[i] == node.str()) {
            answer.fitting.push_back(i);
        } else {
            answer.failed.push_back(
                {i, fmt::format("the pod's binding to node {} is not confirmed yet", node.str())});
            answer.reason = UnschedulableReason::being_bound;
        }
    }
    return answer;
}

// kNoFit if the pod fits nowhere.
NodePrice lowest_of(const std::vector<NodePrice>& prices) {
    return prices.empty() ? kNoFit : std::ranges::min(prices);
}

// Where in the request the node is that the pod was nominated to ahead of its turn; nothing if it
// is not named, or the pod does not fit there.
std::optional<std::size_t> nominated_ahead(const Snapshot& snapshot,
                                           const std::vector<std::uint32_t>& positions,
                                           const std::vector<NodePrice>& prices,
                                           const PodUid& pod) {
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (prices[i] == kNoFit || !snapshot.row(positions[i]).has_nominees) continue;
        const auto& nominees = snapshot.row(positions[i]).node->nominees;
        if (std::ranges::any_of(nominees, [&](const Nominee& nominee) {
                return nominee.is_ahead && nominee.pod->uid == pod;
            }))
            return i;
    }
    return std::nullopt;
}

// The positions of the lowest price, the first `most` of them.
std::vector<std::size_t> cheapest(const std::vector<NodePrice>& prices, std::size_t most) {
    std::vector<std::size_t> out;
    const NodePrice lowest = lowest_of(prices);
    if (lowest == kNoFit) return out;
    for (std::size_t i = 0; i < prices.size() && out.size() < most; ++i) {
        if (prices[i] == lowest) out.push_back(i);
    }
    return out;
}

}  // namespace

FilterAnswer choose_nodes(const Snapshot& snapshot, const ExtenderArgs& args,
                          const PodRequest& asked, const NodeScorer* scorer, std::size_t best) {
    if (const AssignedPod* assigned = snapshot.unobserved(args.pod.uid))
        return only_on(assigned->allocation.node, args);
    const bool all = best == 0 || args.has_preferences;
    FilterAnswer answer;
    const PodRequest pod = snapshot.joined(asked);
    Placer placer(pod.containers);
    const auto positions = snapshot.positions(args.names);
    const std::vector<NodePrice> prices = prices_of(placer, snapshot, positions, pod, scorer);
    Diagnosis refusals(placer, pod.containers, snapshot, args);
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (prices[i] == kNoFit) {
            refusals.add(i, positions[i]);
        } else if (all) {
            answer.fitting.push_back(i);
        }
    }
    refusals.write(answer);
    if (all) return answer;
    if (const auto node = nominated_ahead(snapshot, positions, prices, pod.uid)) {
        answer.fitting = {*node};
    } else {
        answer.fitting = cheapest(prices, best);
    }
    return answer;
}

std::optional<std::uint32_t> best_node(const Snapshot& snapshot,
                                       std::span<const std::uint32_t> positions,
                                       const PodRequest& asked, const NodeScorer* scorer) {
    const PodRequest pod = snapshot.joined(asked);
    Placer placer(pod.containers);
    const auto prices = prices_of(placer, snapshot, positions, pod, scorer);
    const auto best = cheapest(prices, 1);
    if (best.empty()) return std::nullopt;
    return positions[best.front()];
}

std::vector<int> score_nodes(const Snapshot& snapshot, const ExtenderArgs& args,
                             const PodRequest& asked, const NodeScorer* scorer) {
    std::vector<int> scores(args.names.size(), 0);
    if (const AssignedPod* assigned = snapshot.unobserved(args.pod.uid)) {
        const auto node = std::ranges::find(args.names, assigned->allocation.node.str());
        if (node != args.names.end()) scores[node - args.names.begin()] = kBestScore;
        return scores;
    }
    const PodRequest pod = snapshot.joined(asked);
    Placer placer(pod.containers);
    const std::vector<NodePrice> prices =
        prices_of(placer, snapshot, snapshot.positions(args.names), pod, scorer);
    const NodePrice cheapest = lowest_of(prices);
    if (cheapest == kNoFit) return scores;
    std::int64_t dearest = cheapest.first;
    for (const NodePrice& price : prices) {
        if (price != kNoFit && !is_unrated(price)) dearest = std::max(dearest, price.first);
    }
    const auto span = static_cast<double>(std::max<std::int64_t>(dearest - cheapest.first, 1));
    for (std::size_t i = 0; i < prices.size(); ++i) {
        if (prices[i] == kNoFit) continue;
        const auto above = static_cast<double>(prices[i].first - cheapest.first);
        const double score = kSecondScore * std::max(0.0, 1 - above / span);
        scores[i] = prices[i] == cheapest ? kBestScore : static_cast<int>(score);
    }
    return scores;
}

}  // namespace tessera
