// The load of `./dev bench cluster`: makes nodes and pods in a real API server, and sees them
// bound.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <thread>

#include "adapters/kube/kubeconfig.hpp"
#include "testing/bench/bind_watch.hpp"
#include "testing/bench/load_client.hpp"
#include "testing/bench/load_objects.hpp"
#include "wire/kube_objects.hpp"

namespace tessera::bench {
namespace {

using Arguments = std::span<char*>;

constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kJson = "application/json";

int number(const char* text) {
    return std::stoi(text);
}

void report(double seconds) {
    fmt::print("{{\"seconds\":{:.3f}}}\n", seconds);
}

bool nodes(LoadClient& client, Arguments a) {
    report(LoadClient::each(number(a[0]), [&](int i) {
        client.send(
            {.method = "POST", .path = kNodes, .body = node_object(i), .content_type = kJson});
    }));
    return true;
}

bool pods(LoadClient& client, Arguments a) {
    const auto asks = asks_of(a[1]);
    if (!asks) return false;
    report(LoadClient::each(number(a[2]), [&](int i) {
        client.send({.method = "POST",
                     .path = kPods,
                     .body = waiting_pod(a[0], i, *asks),
                     .content_type = kJson});
    }));
    return true;
}

bool remove(LoadClient& client, Arguments a) {
    report(LoadClient::each(number(a[1]), [&](int i) {
        const std::string name = fmt::format("{}-{:05}", a[0], i);
        client.send(
            {.method = "DELETE", .path = fmt::format("{}/{}?gracePeriodSeconds=0", kPods, name)});
    }));
    return true;
}

bool place(LoadClient& client, Arguments a) {
    const std::vector<Placed> all = placed_pods(number(a[0]), number(a[1]));
    report(LoadClient::each(static_cast<int>(all.size()), [&](int i) {
        const Placed& pod = all[static_cast<std::size_t>(i)];
        const std::string made = client.send(
            {.method = "POST", .path = kPods, .body = placed_pod(pod), .content_type = kJson});
        const auto read = JsonDocument::parse(made);
        if (!read) return;
        client.send({.method = "PATCH",
                     .path = fmt::format("{}/{}/status", kPods, pod.name),
                     .body = running_patch(pod, read_pod(read->root()).uid.str()),
                     .content_type = "application/merge-patch+json"});
    }));
    return true;
}

bool watch(LoadClient& client, Arguments a) {
    return watch_binds(client.http(),
                       {.group = a[0], .count = number(a[1]), .seconds = number(a[2])});
}

// Nodes and pods side by side, as the controller reads them, and nothing done with them.
bool list(LoadClient& client, Arguments) {
    const auto begin = std::chrono::steady_clock::now();
    std::size_t bytes = 0;
    {
        const std::jthread beside([&] { bytes = client.list(kNodes, [](const std::string&) {}); });
        client.list("/api/v1/pods", [](const std::string&) {});
    }
    report(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    return bytes > 0;
}

// Whether the bound pods of a group have their allocation, and no card holds more than it has.
bool check(LoadClient& client, Arguments a) {
    constexpr std::int64_t kCard = gibibytes(80).count;
    const std::string prefix = std::string(a[0]) + "-";
    std::map<std::string, std::int64_t> held;
    int bound = 0;
    int placed = 0;
    client.list("/api/v1/pods", [&](const std::string& body) {
        const auto document = JsonDocument::parse(body);
        if (!document) return;
        const auto page = read_list(*document);
        if (!page) return;
        for (const JsonValue item : page->items) {
            const PodFacts pod = read_pod(item);
            const bool asked = pod.name.name.starts_with(prefix) && !pod.node.empty();
            bound += asked ? 1 : 0;
            if (!pod.allocation || !*pod.allocation) continue;
            const Allocation& allocation = **pod.allocation;
            if (allocation.node != pod.node || allocation.pod != pod.uid) continue;
            placed += asked ? 1 : 0;
            for (const Hold& hold : holds(allocation.containers))
                held[hold.uuid.str()] += hold.memory.count;
        }
    });
    const auto over = std::ranges::count_if(held, [](const auto& c) { return c.second > kCard; });
    fmt::print("{{\"bound\":{},\"placed\":{},\"overcommitted\":{},\"cards\":{}}}\n", bound, placed,
               over, held.size());
    return true;
}

struct Verb {
    std::string_view name;
    std::size_t arguments;
    std::string_view help;
    bool (*run)(LoadClient&, Arguments);
};
constexpr std::array kVerbs = {
    Verb{"nodes", 1, "COUNT", nodes},
    Verb{"pods", 3, "GROUP plain|extended|ours COUNT", pods},
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
        if (all.size() != 3 + verb.arguments || verb.name != all[2]) continue;
        const auto connection = tessera::connect_info({.path = all[1]});
        if (!connection) {
            fmt::print(stderr, "{}\n", connection.error().text);
            return 2;
        }
        LoadClient client(connection->endpoint);
        return verb.run(client, all.subspan(3)) ? 0 : 1;
    }
    for (const Verb& verb : kVerbs)
        fmt::print(stderr, "usage: cluster_load KUBECONFIG {} {}\n", verb.name, verb.help);
    return 2;
}
