// `./dev bench defrag`: how long `tessera defrag --plan` thinks, once it has read the cluster: who
// holds what, what the policies learn of it, and the search.
#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <random>

#include "app/scheduler/foreseen.hpp"
#include "domain/defrag/plan.hpp"
#include "domain/defrag/snapshot.hpp"
#include "testing/bench/figure.hpp"
#include "testing/builders/builders.hpp"

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCards = 8;
constexpr int kCardGib = 80;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Of this process, the highest so far.
double peak_mib() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_maxrss) / 1'024;
}

// How much of its cards a cluster has given away.
enum class Fill { half, nearly_all };
// By what its pods differ: memory and CPU in few steps, or CPU as it comes.
enum class Kinds { some_500, some_16000 };

struct Shape {
    int nodes;
    Fill fill;
    Kinds kinds = Kinds::some_500;
};

// Nodes without a free card, all of them used by pods of many kinds, by memory and by CPU; one pod
// in four may not be moved.
class UsedCluster {
  public:
    explicit UsedCluster(const Shape& shape) : shape_(shape) {
        for (int i = 0; i < shape.nodes; ++i) {
            NodeInventory node = build::node(fmt::format("n{:04}", i), kCards, gibibytes(kCardGib));
            node.host = {128'000, gibibytes(1'024)};
            for (int card = 0; card < kCards; ++card)
                fill(node, card);
            snapshot_.traits.push_back({.name = node.name});
            snapshot_.nodes.push_back(std::move(node));
        }
    }

    [[nodiscard]] const defrag::Snapshot& snapshot() const { return snapshot_; }

  private:
    int any(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

    void fill(const NodeInventory& node, int card) {
        const bool is_half = shape_.fill == Fill::half;
        const int most = is_half ? any(1, 4) : any(4, 6);
        int left = kCardGib - (is_half ? 0 : any(0, 6));
        for (int i = 0; i < most; ++i) {
            const int gib = is_half || i + 1 < most ? any(2, is_half ? 34 : 20) : left;
            if (gib > left || gib == 0) return;
            left -= gib;
            add(node, card, gib);
        }
    }

    void add(const NodeInventory& node, int card, int gib) {
        PodFacts pod =
            build::pod(fmt::format("p{}", snapshot_.pods.size()), build::native(gibibytes(gib)));
        const int cpu_milli = shape_.kinds == Kinds::some_500 ? 250 * any(1, 16) : 8 * any(1, 500);
        pod.host = {cpu_milli, gibibytes(any(1, 32))};
        pod.created = fmt::format("2026-01-01T{:02}:00:00Z", any(0, 23));
        pod = build::bound(
            pod, build::allocation(pod, node.name.str(),
                                   {{.uuid = node.gpus[static_cast<std::size_t>(card)].uuid,
                                     .index = card,
                                     .memory = gibibytes(gib)}}));
        snapshot_.states.push_back({.uid = pod.uid,
                                    .name = pod.name,
                                    .node = pod.node,
                                    .owner = defrag::Owner{"ReplicaSet", "web", "rs"},
                                    .allowed = any(1, 4) > 1});
        snapshot_.pods.push_back(std::move(pod));
    }

    const Shape shape_;
    std::mt19937 random_{7};
    defrag::Snapshot snapshot_;
};

struct Question {
    const char* name;
    defrag::Goal goal;
};

std::vector<Question> questions() {
    const auto room = [](int cards) {
        return defrag::RoomFor{build::ask(build::pod("waits", build::whole(cards))), {}};
    };
    return {{"one card more", defrag::FreeCards{1}},
            {"32 cards more", defrag::FreeCards{32}},
            {"room for a pod of one card", room(1)},
            {"room for a pod of eight cards", room(8)}};
}

std::string found_text(const std::variant<defrag::Plan, defrag::NoPlan>& found) {
    const auto* plan = std::get_if<defrag::Plan>(&found);
    if (plan == nullptr) return "no plan";
    return fmt::format("{} moves{}", plan->moves.size(), plan->fewest ? ", fewest" : "");
}

bool plan(const UsedCluster& cluster, const std::string& what, const char* policy,
          const Question& question, double most_s) {
    const auto begin = Clock::now();
    const auto raters = foreseen_raters(cluster.snapshot(), policy);
    const defrag::Cluster seen = defrag::cluster_of(cluster.snapshot(), raters);
    const double read_s = seconds_since(begin);
    const auto found = defrag::make_plan(seen, question.goal);
    return at_most(fmt::format("{}, {}: plan, {} ({}; {:.2f} s before the search)", what, policy,
                               question.name, found_text(found), read_s),
                   most_s, seconds_since(begin), "s");
}

bool run(const Shape& shape, double most_s) {
    const UsedCluster cluster(shape);
    const std::string what = fmt::format(
        "{} nodes x {} GPUs, {} used by {} pods of some {} kinds", shape.nodes, kCards,
        shape.fill == Fill::half ? "half" : "nearly all", cluster.snapshot().pods.size(),
        shape.kinds == Kinds::some_500 ? "500" : "16,000");
    bool holds = true;
    for (const char* policy : {"binpack", "spread", "fgd", "expected-fill"}) {
        for (const Question& question : questions())
            holds &= plan(cluster, what, policy, question, most_s);
    }
    return holds;
}

}  // namespace
}  // namespace tessera::bench

int main() {
    using tessera::bench::Fill;
    using tessera::bench::Kinds;
    using tessera::bench::run;
    fmt::print("figure | goal | measured | holds\n");
    bool holds = true;
    for (const auto fill : {Fill::half, Fill::nearly_all}) {
        holds &= run({.nodes = 1'213, .fill = fill}, 6);
        holds &= run({.nodes = 5'000, .fill = fill}, 20);
        holds &= run({.nodes = 5'000, .fill = fill, .kinds = Kinds::some_16000}, 30);
    }
    holds &= tessera::bench::at_most("memory at most, clusters as read included", 1'200,
                                     tessera::bench::peak_mib(), "MiB");
    return holds ? 0 : 1;
}
