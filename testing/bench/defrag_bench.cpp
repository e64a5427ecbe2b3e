// `./dev bench defrag`: how long `tessera defrag --plan` computes after it has read the cluster.
// The time includes building the state, training the policies on it, and the search.
#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <random>

#include "app/explain/predicted_policies.hpp"
#include "domain/defrag/cluster_objects.hpp"
#include "domain/defrag/plan.hpp"
#include "testing/bench/figure.hpp"
#include "testing/builders/builders.hpp"

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kGpus = 8;
constexpr int kGpuGib = 80;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The highest resident memory of this process so far.
double peak_mib() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_maxrss) / 1'024;
}

// How much of the cluster's GPU memory is allocated.
enum class Fill { half, nearly_all };
// The number of different kinds of pods: CPU requests in steps of 250 m, or in steps of 8 m.
enum class Kinds { some_500, some_16000 };

struct Shape {
    int nodes;
    Fill fill;
    Kinds kinds = Kinds::some_500;
};

// Nodes without a free GPU. Their pods differ in memory and CPU. One pod in four must not be moved.
class UsedCluster {
  public:
    explicit UsedCluster(const Shape& shape) : shape_(shape) {
        for (int i = 0; i < shape.nodes; ++i) {
            NodeInventory node = build::node(fmt::format("n{:04}", i), kGpus, gibibytes(kGpuGib));
            node.host = {128'000, gibibytes(1'024)};
            for (int gpu = 0; gpu < kGpus; ++gpu)
                fill(node, gpu);
            objects_.traits.push_back({.name = node.name});
            objects_.nodes.push_back(std::move(node));
        }
    }

    [[nodiscard]] const defrag::ClusterObjects& objects() const { return objects_; }

  private:
    int any(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

    void fill(const NodeInventory& node, int gpu) {
        const bool is_half = shape_.fill == Fill::half;
        const int most = is_half ? any(1, 4) : any(4, 6);
        int left = kGpuGib - (is_half ? 0 : any(0, 6));
        for (int i = 0; i < most; ++i) {
            const int gib = is_half || i + 1 < most ? any(2, is_half ? 34 : 20) : left;
            if (gib > left || gib == 0) return;
            left -= gib;
            add(node, gpu, gib);
        }
    }

    void add(const NodeInventory& node, int gpu, int gib) {
        PodInfo pod =
            build::pod(fmt::format("p{}", objects_.pods.size()), build::native(gibibytes(gib)));
        const int cpu_milli = shape_.kinds == Kinds::some_500 ? 250 * any(1, 16) : 8 * any(1, 500);
        pod.host = {cpu_milli, gibibytes(any(1, 32))};
        pod.created = fmt::format("2026-01-01T{:02}:00:00Z", any(0, 23));
        pod = build::bound(
            pod, build::allocation(pod, node.name.str(),
                                   {{.uuid = node.gpus[static_cast<std::size_t>(gpu)].uuid,
                                     .index = gpu,
                                     .memory = gibibytes(gib)}}));
        objects_.states.push_back({.uid = pod.uid,
                                   .name = pod.name,
                                   .node = pod.node,
                                   .owner = defrag::Owner{"ReplicaSet", "web", "rs"},
                                   .allowed = any(1, 4) > 1});
        objects_.pods.push_back(std::move(pod));
    }

    const Shape shape_;
    std::mt19937 random_{7};
    defrag::ClusterObjects objects_;
};

struct Question {
    const char* name;
    defrag::Goal goal;
};

std::vector<Question> questions() {
    const auto room = [](int gpus) {
        return defrag::RoomFor{build::request(build::pod("waits", build::whole(gpus))), {}};
    };
    return {{"one GPU more", defrag::FreeGpus{1}},
            {"32 GPUs more", defrag::FreeGpus{32}},
            {"room for a pod of one GPU", room(1)},
            {"room for a pod of eight GPUs", room(8)}};
}

std::string found_text(const std::variant<defrag::Plan, defrag::NoPlan>& found) {
    const auto* plan = std::get_if<defrag::Plan>(&found);
    if (plan == nullptr) return "no plan";
    return fmt::format("{} moves{}", plan->moves.size(), plan->fewest ? ", fewest" : "");
}

bool plan(const UsedCluster& cluster, const std::string& what, const char* policy,
          const Question& question, double most_s) {
    const auto begin = Clock::now();
    const auto scorers = predicted_scorers(cluster.objects(), policy);
    const defrag::Cluster seen = defrag::cluster_of(cluster.objects(), scorers);
    const double read_s = seconds_since(begin);
    const auto found = defrag::make_plan(seen, question.goal);
    return at_most(fmt::format("{}, {}: plan, {} ({}; {:.2f} s before the search)", what, policy,
                               question.name, found_text(found), read_s),
                   most_s, seconds_since(begin), "s");
}

bool run(const Shape& shape, double most_s) {
    const UsedCluster cluster(shape);
    const std::string what =
        fmt::format("{} nodes x {} GPUs, {} used by {} pods of some {} kinds", shape.nodes, kGpus,
                    shape.fill == Fill::half ? "half" : "nearly all", cluster.objects().pods.size(),
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
