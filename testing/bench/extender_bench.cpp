// `./dev bench extender`: the latency of the real tessera-controller over loopback HTTP. A fake API
// server gives it a large cluster; the benchmark calls it as kube-scheduler does. "floor" is the
// time of the same bytes against a server that does no work, in the same run: the cost of the
// transport alone on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <tuple>

#include "base/check.hpp"
#include "testing/bench/cluster_text.hpp"
#include "testing/bench/fake_api.hpp"
#include "testing/bench/figure.hpp"
#include "testing/bench/raw_http.hpp"
#include "testing/bench/started_controller.hpp"

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 400;
constexpr int kTurns = 5;
constexpr int kPolicyTurns = 3;
constexpr int kFullRounds = 30;
constexpr int kBinds = 300;

double ms_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// `best_nodes`: how many nodes the filter offers; 0: all.
std::unique_ptr<StartedController> start(const std::string& program, int api_port, int best_nodes,
                                         const std::string& policy = "binpack") {
    return std::make_unique<StartedController>(
        program, api_port,
        std::vector<std::string>{"--policy=" + policy, fmt::format("--best-nodes={}", best_nodes)});
}

std::string names_json(std::vector<std::string> names, std::mt19937& random) {
    std::ranges::shuffle(names, random);
    std::string out = "[";
    for (const std::string& name : names)
        out += (out.size() > 1 ? ",\"" : "\"") + name + "\"";
    return out + "]";
}

// Sends a request and returns the milliseconds until the response, which must contain
// `must_contain`. Stores the response's body in `body` unless that is null.
double timed(Wire& wire, const std::string& request, const char* must_contain,
             std::string* body = nullptr) {
    const auto begin = Clock::now();
    wire.send(request);
    const Wire::Message reply = wire.receive();
    const double took = ms_since(begin);
    if (body != nullptr) *body = reply.body;
    if (reply.body.find(must_contain) == std::string::npos) {
        fmt::print(stderr, "expected {} in the answer: {}{}\n", must_contain, reply.head,
                   reply.body.substr(0, 300));
        std::exit(3);
    }
    return took;
}

// The text between two keys of a filter response.
std::string between(const std::string& answer, const char* key, const char* next) {
    const std::size_t begin = answer.find(key) + std::string_view(key).size();
    return answer.substr(begin, answer.find(next, begin) - begin);
}

struct Samples {
    std::vector<double> filter, prioritize, both, floor;
    // CPU time of the controller, in milliseconds.
    std::vector<double> filter_cpu, prioritize_cpu;
};

// The cluster's nodes as a request contains them: exactly one of the fields is not "null".
struct Asked {
    std::string names;
    std::string objects;
};

std::string body_of(const std::string& pod, const std::string& objects, const std::string& names) {
    return fmt::format(R"({{"Pod":{},"Nodes":{},"NodeNames":{}}})", pod, objects, names);
}

constexpr int kKinds = 40;

// Pod number `i`, which requests 1 to kKinds GiB.
std::string pod_of(int i, std::mt19937& random) {
    return pending_pod(fmt::format("p{}", i), fmt::format("u{}", i),
                       1 + static_cast<int>(random() % kKinds));
}

// Calls filter, and then, like kube-scheduler, prioritize with the nodes that the filter left.
// Returns the prioritize request. `of`: the controller whose CPU time is measured.
std::string ask_one(Wire& wire, const std::string& pod, const Asked& asked, Samples* samples,
                    const StartedController* of = nullptr) {
    const bool full = asked.names == "null";
    std::string answer;
    const auto cpu_ms = [of] { return of == nullptr ? 0 : of->cpu_ms(); };
    const double before = cpu_ms();
    const double filter =
        timed(wire, post("/gpushare-scheduler/filter", body_of(pod, asked.objects, asked.names)),
              R"("Error":"")", &answer);
    const double between_them = cpu_ms();
    std::string second =
        full ? body_of(pod, between(answer, R"("Nodes":)", R"(,"NodeNames":)"), "null")
             : body_of(pod, "null", between(answer, R"("NodeNames":)", R"(,"FailedNodes":)"));
    const double prioritize =
        timed(wire, post("/gpushare-scheduler/prioritize", second), R"("Score":10)");
    if (samples == nullptr) return second;
    if (of != nullptr) {
        samples->filter_cpu.push_back(between_them - before);
        samples->prioritize_cpu.push_back(cpu_ms() - between_them);
    }
    samples->filter.push_back(filter);
    samples->prioritize.push_back(prioritize);
    samples->both.push_back(filter + prioritize);
    return second;
}

// kube-scheduler calls for a long time, so the first rounds are not counted: caches are cold then,
// and buffers still grow.
int first_round(int rounds) {
    return -rounds / 10;
}

// Measures requests with node names, or with the whole Node objects if `full`.
Samples request(int port, int api_port, const ClusterText& text, bool full, int rounds) {
    std::mt19937 random(7);
    Wire wire(connect_to(port));
    Wire floor(connect_to(api_port));
    std::string objects = "null";
    if (full) objects = list_page("NodeList", text.nodes, 0, text.nodes.size());
    Samples samples;
    for (int i = first_round(rounds); i < rounds; ++i) {
        const std::string pod = pod_of(i, random);
        const Asked asked{full ? "null" : names_json(text.names, random), objects};
        const std::string second = ask_one(wire, pod, asked, i < 0 ? nullptr : &samples);
        if (i < 0) continue;
        const std::string first = body_of(pod, asked.objects, asked.names);
        samples.floor.push_back(timed(floor, post("/floor", first), "Pod") +
                                timed(floor, post("/floor", second), "Pod"));
    }
    return samples;
}

// Sends the same requests to all controllers, one after the other. The first controller changes in
// each round, so that other work on the machine disturbs all of them equally.
std::vector<Samples> ask_all(const std::vector<std::unique_ptr<StartedController>>& controllers,
                             const ClusterText& text, int rounds) {
    std::mt19937 random(7);
    std::vector<std::unique_ptr<Wire>> wires;
    for (const auto& controller : controllers)
        wires.push_back(std::make_unique<Wire>(connect_to(controller->port())));
    std::vector<Samples> samples(controllers.size());
    for (int i = first_round(rounds); i < rounds; ++i) {
        const std::string pod = pod_of(i, random);
        const Asked asked{names_json(text.names, random), "null"};
        for (std::size_t turn = 0; turn < controllers.size(); ++turn) {
            const std::size_t whom =
                (turn + static_cast<std::size_t>(i - first_round(rounds))) % controllers.size();
            ask_one(*wires[whom], pod, asked, i < 0 ? nullptr : &samples[whom],
                    controllers[whom].get());
        }
    }
    return samples;
}

double both_p99(const Samples& samples) {
    return quantile(samples.both, 0.99);
}

// Measures several turns, because other work on the machine causes most of the tail. The floor does
// not depend on the controller, so the turn with the lowest floor was disturbed least. It is first.
std::vector<Samples> ask_in_turns(int port, int api_port, const ClusterText& text) {
    std::vector<Samples> turns;
    for (int i = 0; i < kTurns; ++i)
        turns.push_back(request(port, api_port, text, false, kRounds));
    std::ranges::sort(turns, {}, [](const Samples& turn) { return quantile(turn.floor, 0.99); });
    return turns;
}

// A pod that is larger than every GPU: the response has a reason for each node.
std::vector<double> ask_in_vain(int port, const ClusterText& text) {
    std::mt19937 random(5);
    Wire wire(connect_to(port));
    std::vector<double> samples;
    for (int i = 0; i < kRounds; ++i) {
        const std::string body =
            fmt::format(R"({{"Pod":{},"Nodes":null,"NodeNames":{}}})", pending_pod("v", "v", 1000),
                        names_json(text.names, random));
        samples.push_back(
            timed(wire, post("/gpushare-scheduler/filter", body), "FailedAndUnresolvableNodes"));
    }
    return samples;
}

std::vector<double> bind(int port, const ClusterText& text) {
    Wire wire(connect_to(port));
    std::vector<double> samples;
    std::mt19937 random(11);
    for (int i = 0; i < kBinds; ++i) {
        const std::string& node = text.names[random() % text.names.size()];
        const std::string body = fmt::format(
            R"({{"PodName":"b{}","PodNamespace":"default","PodUID":"uid-b{}","Node":"{}"}})", i, i,
            node);
        samples.push_back(timed(wire, post("/gpushare-scheduler/bind", body), R"("Error":"")"));
    }
    return samples;
}

std::vector<double> scrape(int port) {
    constexpr int kScrapes = 20;
    Wire wire(connect_to(port));
    std::vector<double> samples;
    for (int i = 0; i < kScrapes; ++i)
        samples.push_back(timed(wire, get("/metrics"), "tessera_gpu_capacity_bytes{"));
    return samples;
}

void show(const std::string& what, const std::vector<double>& samples) {
    shown(what + " p50", quantile(samples, 0.5), "ms");
    shown(what + " p99", quantile(samples, 0.99), "ms");
}

// Measures one request for each kind of pod.
Samples ask_first(int port, const ClusterText& text) {
    Samples samples;
    Wire wire(connect_to(port));
    std::mt19937 random(3);
    for (int gib = 1; gib <= kKinds; ++gib) {
        const std::string pod = pending_pod(fmt::format("f{}", gib), "first", gib);
        ask_one(wire, pod, {names_json(text.names, random), "null"}, &samples);
    }
    return samples;
}

constexpr std::array kPolicies = {"spread", "clustering", "fgd", "expected-fill"};

// Samples per controller: first the binpack controller, then one for each policy of kPolicies.
struct Turn {
    std::vector<Samples> first;  // a kind of pod that the controller has not seen before
    std::vector<Samples> later;
};

Turn ask_policies(const std::string& program, int api_port, const ClusterText& text) {
    std::vector<std::unique_ptr<StartedController>> controllers;
    controllers.push_back(start(program, api_port, 0));
    for (const char* policy : kPolicies)
        controllers.push_back(start(program, api_port, 0, policy));
    Turn turn;
    for (const auto& controller : controllers) {
        controller->wait_idle();
        turn.first.push_back(ask_first(controller->port(), text));
        controller->wait_idle();
    }
    turn.later = ask_all(controllers, text, kRounds);
    return turn;
}

void append(std::vector<double>& to, const std::vector<double>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

// The samples of each controller in all turns. The tail of one turn has only a few samples, and two
// processes also differ by chance.
std::vector<Samples> together(const std::vector<Turn>& turns, std::vector<Samples> Turn::* part) {
    std::vector<Samples> out(kPolicies.size() + 1);
    for (const Turn& turn : turns) {
        for (std::size_t i = 0; i < out.size(); ++i) {
            const Samples& samples = (turn.*part)[i];
            append(out[i].filter, samples.filter);
            append(out[i].prioritize, samples.prioritize);
            append(out[i].both, samples.both);
            append(out[i].filter_cpu, samples.filter_cpu);
            append(out[i].prioritize_cpu, samples.prioritize_cpu);
        }
    }
    return out;
}

// What each policy adds to binpack's time if every feasible node is offered and scored. The goal is
// for the controller's CPU time. Wall-clock p99 is only shown: other work on the machine makes it
// differ between two processes by more than the goal, whatever their policies are.
bool run_policies(const std::string& program, const FakeApi& api, const ClusterText& text,
                  const std::string& at) {
    std::vector<Turn> turns;
    for (int turn = 0; turn < kPolicyTurns; ++turn)
        turns.push_back(ask_policies(program, api.port(), text));
    const std::vector<Samples> first = together(turns, &Turn::first);
    const std::vector<Samples> later = together(turns, &Turn::later);
    bool holds = true;
    for (std::size_t i = 0; i < kPolicies.size(); ++i) {
        const auto added = [i](const std::vector<Samples>& of, std::vector<double> Samples::* call,
                               double share) {
            return quantile(of[i + 1].*call, share) - quantile(of.front().*call, share);
        };
        const std::string what = fmt::format("{}names, all offered: {} adds to ", at, kPolicies[i]);
        for (const auto& [name, by_clock, cpu] :
             {std::tuple{"filter", &Samples::filter, &Samples::filter_cpu},
              {"prioritize", &Samples::prioritize, &Samples::prioritize_cpu}}) {
            shown(what + name + " p50", added(later, by_clock, 0.5), "ms");
            shown(what + name + " p99", added(later, by_clock, 0.99), "ms");
            shown(what + name + "'s processor time p50", added(later, cpu, 0.5), "ms");
            holds &=
                at_most(what + name + "'s processor time p99", 0.3, added(later, cpu, 0.99), "ms");
        }
        shown(what + "filter+prioritize p99", added(later, &Samples::both, 0.99), "ms");
        holds &= at_most(what + "filter+prioritize, of a kind that comes first, p50", 10,
                         added(first, &Samples::both, 0.5), "ms");
    }
    return holds;
}

// Runs all measurements for one cluster size. Apart from the rows "all offered", the filter returns
// only the best 16 nodes.
bool run(const std::string& program, int nodes) {
    const ClusterText& text = *new ClusterText(make_cluster({.nodes = nodes}));
    const FakeApi& api = *new FakeApi(text);  // its threads end with the process
    const std::string at = fmt::format("{} nodes x 8 GPUs, {} pods: ", nodes, text.pods.size());
    {
        const auto offers_all = start(program, api.port(), 0);
        const Samples names = request(offers_all->port(), api.port(), text, false, kRounds);
        show(at + "names, all offered: filter", names.filter);
        show(at + "names, all offered: prioritize", names.prioritize);
        show(at + "names, all offered: filter+prioritize", names.both);
    }
    const bool policies_hold = run_policies(program, api, text, at);
    const auto controller = start(program, api.port(), 16);
    const double loaded = controller->rss_mb();
    const std::vector<Samples> turns = ask_in_turns(controller->port(), api.port(), text);
    const Samples& names = turns.front();
    show(at + "names: filter", names.filter);
    show(at + "names: prioritize", names.prioritize);
    show(at + "names: floor of both", names.floor);
    bool holds = policies_hold;
    holds &= at_most(at + "names: filter+prioritize p99", 1.0, both_p99(names), "ms");
    const auto slowest = std::ranges::max_element(turns, {}, both_p99);
    shown(fmt::format("{}names: filter+prioritize p99 in the slowest of {} turns", at, kTurns),
          both_p99(*slowest), "ms");
    show(at + "names: filter, no node fits", ask_in_vain(controller->port(), text));
    show(at + "bind", bind(controller->port(), text));
    holds &= at_most(at + "scrape of /metrics p50", 300, quantile(scrape(controller->port()), 0.5),
                     "ms");
    holds &= at_most(at + "RSS in names mode, after scrapes", 200,
                     std::max(loaded, controller->rss_mb()), "MB");
    const Samples full = request(controller->port(), api.port(), text, true, kFullRounds);
    show(at + "full objects: filter", full.filter);
    show(at + "full objects: prioritize", full.prioritize);
    show(at + "full objects: floor of both", full.floor);
    shown(at + "RSS after full objects", controller->rss_mb(), "MB");
    return holds;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: extender_bench TESSERA_CONTROLLER\n");
        return 2;
    }
    fmt::print("figure | goal | measured | holds\n");
    bool holds = true;
    for (const int nodes : {1000, 5000})
        holds &= tessera::bench::run(argv[1], nodes);
    return holds ? 0 : 1;
}
