// The load of `./dev bench cluster`: creates nodes and pods in a real API server, and watches the
// binds.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <thread>

#include "adapters/kubeconfig/kubeconfig.hpp"
#include "programs/common/seal_file.hpp"
#include "testing/bench/bind_watch.hpp"
#include "testing/bench/load_client.hpp"
#include "testing/bench/load_objects.hpp"
#include "wire/kube/kube_objects.hpp"

namespace tessera::bench {
namespace {

using Arguments = std::span<char*>;

struct Session {
    LoadClient client;
    const AllocationSeal* seal;  // the same key as the controller's
};

constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kJson = "application/json";

int number(const char* text) {
    return std::stoi(text);
}

void report(double seconds) {
    fmt::print("{{\"seconds\":{:.3f}}}\n", seconds);
}

bool nodes(Session& session, Arguments a) {
    report(LoadClient::each(number(a[0]), [&](int i) {
        session.client.send(
            {.method = "POST", .path = kNodes, .body = node_object(i), .content_type = kJson});
    }));
    return true;
}

bool pods(Session& session, Arguments a) {
    const auto asks = asks_of(a[1]);
    if (!asks) return false;
    report(LoadClient::each(number(a[2]), [&](int i) {
        session.client.send({.method = "POST",
                             .path = kPods,
                             .body = waiting_pod(a[0], i, *asks),
                             .content_type = kJson});
    }));
    return true;
}

bool remove(Session& session, Arguments a) {
    report(LoadClient::each(number(a[1]), [&](int i) {
        const std::string name = fmt::format("{}-{:05}", a[0], i);
        session.client.send(
            {.method = "DELETE", .path = fmt::format("{}/{}?gracePeriodSeconds=0", kPods, name)});
    }));
    return true;
}

bool place(Session& session, Arguments a) {
    const std::vector<Placed> all = placed_pods(number(a[0]), number(a[1]));
    report(LoadClient::each(static_cast<int>(all.size()), [&](int i) {
        const Placed& pod = all[static_cast<std::size_t>(i)];
        const std::string made = session.client.send(
            {.method = "POST", .path = kPods, .body = placed_pod(pod), .content_type = kJson});
        const auto read = JsonDocument::parse(made);
        if (!read) return;
        session.client.send(
            {.method = "PATCH",
             .path = fmt::format("{}/{}/status", kPods, pod.name),
             .body = running_patch(pod, read_pod(read->root()).uid.str(), session.seal),
             .content_type = "application/merge-patch+json"});
    }));
    return true;
}

bool watch(Session& session, Arguments a) {
    return watch_binds(session.client.http(),
                       {.group = a[0], .count = number(a[1]), .seconds = number(a[2])});
}

// Reads nodes and pods in parallel, as the controller does, and discards them.
bool list(Session& session, Arguments) {
    const auto begin = std::chrono::steady_clock::now();
    std::size_t bytes = 0;
    {
        const std::jthread beside(
            [&] { bytes = session.client.list(kNodes, [](const std::string&) {}); });
        session.client.list("/api/v1/pods", [](const std::string&) {});
    }
    report(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    return bytes > 0;
}

// Counts the bound pods of a group, those with a valid allocation, the overcommitted GPUs, and the
// nodes that the group uses.
bool check(Session& session, Arguments a) {
    constexpr std::int64_t kGpu = gibibytes(80).count;
    const std::string prefix = std::string(a[0]) + "-";
    std::map<std::string, std::int64_t> allocated;
    std::set<NodeName> nodes;
    int bound = 0;
    int placed = 0;
    session.client.list("/api/v1/pods", [&](const std::string& body) {
        const auto document = JsonDocument::parse(body);
        if (!document) return;
        const auto page = read_list(*document);
        if (!page) return;
        for (const JsonValue item : page->items) {
            const PodInfo pod = read_pod(item, session.seal);
            const bool asked = pod.name.name.starts_with(prefix) && !pod.node.empty();
            bound += asked ? 1 : 0;
            if (asked) nodes.insert(pod.node);
            if (!pod.allocation || !*pod.allocation) continue;
            const Allocation& allocation = **pod.allocation;
            if (allocation.node != pod.node || allocation.pod != pod.uid) continue;
            placed += asked ? 1 : 0;
            for (const GpuAllocation& on_gpu : allocated_by_gpu(allocation.containers))
                allocated[on_gpu.uuid.str()] += on_gpu.memory.count;
        }
    });
    const auto over =
        std::ranges::count_if(allocated, [](const auto& c) { return c.second > kGpu; });
    fmt::print("{{\"bound\":{},\"placed\":{},\"overcommitted\":{},\"nodes\":{}}}\n", bound, placed,
               over, nodes.size());
    return true;
}

struct Verb {
    std::string_view name;
    std::size_t arguments;
    std::string_view help;
    bool (*run)(Session&, Arguments);
};
constexpr std::array kVerbs = {
    Verb{"nodes", 1, "COUNT", nodes},
    Verb{"pods", 3, "GROUP plain|extended|ours|own COUNT", pods},
    Verb{"remove", 2, "GROUP COUNT", remove},
    Verb{"place", 2, "NODES PODS", place},
    Verb{"watch", 3, "GROUP COUNT SECONDS", watch},
    Verb{"list", 0, "", list},
    Verb{"check", 1, "GROUP", check},
};

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
    using namespace tessera::bench;
    const std::span<char*> all(argv, static_cast<std::size_t>(argc));
    for (const Verb& verb : kVerbs) {
        if (all.size() != 4 + verb.arguments || verb.name != all[3]) continue;
        const auto connection = tessera::connect_info({.path = all[1]});
        const auto seal = tessera::load_seal(all[2]);
        if (!connection || !seal) {
            fmt::print(stderr, "{}\n", connection ? seal.error().text : connection.error().text);
            return 2;
        }
        Session session{LoadClient(connection->endpoint), *seal ? &**seal : nullptr};
        return verb.run(session, all.subspan(4)) ? 0 : 1;
    }
    for (const Verb& verb : kVerbs)
        fmt::print(stderr, "usage: cluster_load KUBECONFIG KEYS {} {}\n", verb.name, verb.help);
    return 2;
}
