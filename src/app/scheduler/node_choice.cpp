#include "app/scheduler/node_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "app/scheduler/refusals.hpp"
#include "domain/placement/node_price.hpp"
#include "domain/placement/nominees.hpp"
#include "domain/placement/place.hpp"

namespace tessera {
namespace {

// kube-scheduler knows 0 to 10. The gap keeps the best node best when its own scorers, most of
// which prefer the emptiest node, add theirs (deploy/scheduler/config.yaml has the weight).
constexpr int kBestScore = 10;
constexpr int kSecondScore = 7;

constexpr NodePrice kNoFit{std::numeric_limits<std::int64_t>::max(), 0};

bool is_unrated(const NodePrice& price) {
    return price.first == -NodeRater::kLast;
}

// So many nodes are weighed one by one.
constexpr std::size_t kFew = 64;

// Of the pod that `placer` places; kNoFit where it does not fit.
NodePrice price_of(Placer& placer, const ClusterView& view, std::uint32_t position,
                   const Asker& pod) {
    const PlacementRow& row = view.row(position);
    std::optional<std::int64_t> price;
    if (!row.promised || !row.open) {
        price = placer.price(row, view.free_of(position));
    } else if (const Fit* fit = try_left(placer, *row.node, pod)) {
        price = fit->price;
    }
    return price ? price_of_fit(*price, row.spare) : kNoFit;
}

// What the rater says in place of the prices of those that fit. Parallel to positions.
void rate(const ClusterView& view, std::span<const std::uint32_t> positions, const PodAsk& pod,
          const NodeRater& rater, std::vector<NodePrice>& prices) {
    std::vector<std::uint32_t> fitting;
    fitting.reserve(positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (prices[i] != kNoFit) fitting.push_back(positions[i]);
    }
    const auto ratings = rater.rate(view, fitting, pod);
    auto rating = ratings.begin();
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (prices[i] == kNoFit) continue;
        prices[i] = price_of_rating(*rating++, prices[i].first, positions[i]);
    }
}

// Of many nodes, by position. kube-scheduler names nodes in an order of its own, and fetching their
// rows and cards from all over the memory costs more than weighing them: so they are weighed where
// they lie (extender_bench).
std::vector<NodePrice> prices_by_position(Placer& placer, const ClusterView& view,
                                          std::span<const std::uint32_t> positions,
                                          const PodAsk& pod, const NodeRater* rater) {
    std::vector<char> is_named(view.places());
    for (const std::uint32_t position : positions) {
        if (position != NameIndex::kNone) is_named[position] = 1;
    }
    std::vector<NodePrice> prices(is_named.size(), kNoFit);
    for (std::uint32_t position = 0; position < is_named.size(); ++position) {
        if (is_named[position] != 0)
            prices[position] = price_of(placer, view, position, {pod.uid, pod.priority});
    }
    if (rater == nullptr) return prices;
    std::vector<std::uint32_t> all(prices.size());
    std::iota(all.begin(), all.end(), 0);
    rate(view, all, pod, *rater, prices);
    return prices;
}

// Parallel to positions.
std::vector<NodePrice> prices_of(Placer& placer, const ClusterView& view,
                                 std::span<const std::uint32_t> positions, const PodAsk& pod,
                                 const NodeRater* rater) {
    std::vector<NodePrice> prices(positions.size(), kNoFit);
    const bool are_few = positions.size() <= kFew;
    const auto all = are_few ? std::vector<NodePrice>{}
                             : prices_by_position(placer, view, positions, pod, rater);
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (positions[i] == NameIndex::kNone) continue;
        prices[i] = are_few ? price_of(placer, view, positions[i], {pod.uid, pod.priority})
                            : all[positions[i]];
    }
    if (are_few && rater != nullptr) rate(view, positions, pod, *rater, prices);
    return prices;
}

// A pod whose Binding is under way or in doubt, and that is asked about again: it has its cards.
FilterAnswer only_on(const NodeName& node, const ExtenderArgs& args) {
    FilterAnswer answer;
    for (std::size_t i = 0; i < args.names.size(); ++i) {
        if (args.names[i] == node.str()) {
            answer.fitting.push_back(i);
        } else {
            answer.failed.push_back(
                {i, fmt::format("the pod's binding to node {} is not settled yet", node.str())});
            answer.obstacle = Obstacle::unsettled;
        }
    }
    return answer;
}

// kNoFit where the pod fits nowhere.
NodePrice lowest_of(const std::vector<NodePrice>& prices) {
    return prices.empty() ? kNoFit : std::ranges::min(prices);
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

FilterAnswer choose_nodes(const ClusterView& view, const ExtenderArgs& args, const PodAsk& asked,
                          const NodeRater* rater, std::size_t best) {
    if (const Tenant* held = view.unseen(args.pod.uid)) return only_on(held->allocation.node, args);
    const bool all = best == 0 || args.has_preferences;
    FilterAnswer answer;
    const PodAsk pod = view.joined(asked);
    Placer placer(pod.request);
    const auto positions = view.positions(args.names);
    const std::vector<NodePrice> prices = prices_of(placer, view, positions, pod, rater);
    Refusals refusals(placer, pod.request, view, args);
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (prices[i] == kNoFit) {
            refusals.add(i, positions[i]);
        } else if (all) {
            answer.fitting.push_back(i);
        }
    }
    refusals.write(answer);
    if (!all) answer.fitting = cheapest(prices, best);
    return answer;
}

std::optional<std::uint32_t> best_node(const ClusterView& view,
                                       std::span<const std::uint32_t> positions,
                                       const PodAsk& asked, const NodeRater* rater) {
    const PodAsk pod = view.joined(asked);
    Placer placer(pod.request);
    const auto prices = prices_of(placer, view, positions, pod, rater);
    const auto best = cheapest(prices, 1);
    if (best.empty()) return std::nullopt;
    return positions[best.front()];
}

std::vector<int> score_nodes(const ClusterView& view, const ExtenderArgs& args, const PodAsk& asked,
                             const NodeRater* rater) {
    std::vector<int> scores(args.names.size(), 0);
    if (const Tenant* held = view.unseen(args.pod.uid)) {
        const auto node = std::ranges::find(args.names, held->allocation.node.str());
        if (node != args.names.end()) scores[node - args.names.begin()] = kBestScore;
        return scores;
    }
    const PodAsk pod = view.joined(asked);
    Placer placer(pod.request);
    const std::vector<NodePrice> prices =
        prices_of(placer, view, view.positions(args.names), pod, rater);
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
