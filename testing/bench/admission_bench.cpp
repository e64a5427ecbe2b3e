// `./dev bench admission`: the latency of the admission webhook of the real tessera-controller,
// over TLS on loopback, at a fixed rate of requests. "nothing" is a webhook that reads no request
// and changes nothing, with the same server and the same requests in the same run: the cost of the
// transport alone on this machine.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "adapters/certificates/openssl_certificates.hpp"
#include "adapters/http/http.hpp"
#include "base/check.hpp"
#include "testing/bench/fake_api.hpp"
#include "testing/bench/figure.hpp"
#include "testing/bench/must.hpp"
#include "testing/bench/started_controller.hpp"

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPerSecond = 500;
constexpr std::chrono::seconds kTurn{4};
constexpr int kTurns = 5;
constexpr int kClients = 8;  // connections, as an API server keeps several
constexpr double kMostMs = 2;
constexpr const char* kPath = "/webhook/admit";

// A request as the API server sends it for a pod with one container. `bytes`: of its environment,
// so that it is as large as those of real workloads.
std::string review(std::size_t bytes) {
    return fmt::format(
        R"({{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{)"
        R"("uid":"705ab4f5-6393-11e8-b7cc-42010a800002",)"
        R"("kind":{{"group":"","version":"v1","kind":"Pod"}},)"
        R"("resource":{{"group":"","version":"v1","resource":"pods"}},"name":"train",)"
        R"("namespace":"default","operation":"CREATE","userInfo":{{"username":"user"}},)"
        R"("object":{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"train",)"
        R"("namespace":"default","labels":{{"app":"train"}}}},"spec":{{"containers":[{{)"
        R"("name":"main","image":"registry.example/train","env":[{{"name":"E","value":"{}"}}],)"
        R"("resources":{{"limits":{{"tessera.dev/gpu-memory":"3Gi"}}}}}}],)"
        R"("schedulerName":"default-scheduler"}}}},"oldObject":null,"dryRun":false}}}})",
        std::string(bytes, 'x'));
}

// Sends requests at the fixed rate, and returns the milliseconds from the time at which each was
// due to its answer: a server that is slow once also delays the requests behind it.
std::vector<double> measure(int port, const std::string& body, std::string_view must_contain) {
    const int count = static_cast<int>(kTurn.count()) * kPerSecond;
    std::vector<double> samples(static_cast<std::size_t>(count));
    HttpClient client({.host = "127.0.0.1", .port = port, .verify = false});
    std::atomic<int> next = 0;
    const auto begin = Clock::now();
    const auto send = [&] {
        for (int i = 0; (i = next.fetch_add(1)) < count;) {
            const auto due = begin + std::chrono::microseconds(1'000'000LL * i / kPerSecond);
            std::this_thread::sleep_until(due);
            const auto answer = must(client.send(
                {.method = "POST", .path = kPath, .body = body, .content_type = "application/json"},
                std::chrono::seconds(10)));
            TESSERA_CHECK(answer.body.find(must_contain) != std::string::npos,
                          "the answer has what it must contain");
            samples[static_cast<std::size_t>(i)] =
                std::chrono::duration<double, std::milli>(Clock::now() - due).count();
        }
    };
    std::vector<std::jthread> clients;
    for (int i = 0; i < kClients; ++i)
        clients.emplace_back(send);
    clients.clear();  // joins them
    // The first requests make the connections.
    samples.erase(samples.begin(), samples.begin() + kPerSecond / 2);
    return samples;
}

// A webhook that allows everything.
class Nothing {
  public:
    Nothing()
        : server_({.threads = 16, .tls_source = [this] { return certificate(); }},
                  [](HttpRequest&) {
                      return HttpResponse{
                          .body = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
                                  R"("response":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002",)"
                                  R"("allowed":true}})"};
                  }),
          port_(must(server_.listen())),
          thread_([this](const std::stop_token& stop) { server_.serve(stop); }) {}

    [[nodiscard]] int port() const { return port_; }

  private:
    Result<HttpTlsPems> certificate() {
        const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
        constexpr std::chrono::hours kValid{24};
        if (pems_.certificate.empty()) {
            TRY(const auto authority, maker_.make_authority("bench", now, kValid));
            TRY(auto made, maker_.sign_server(authority, {"localhost"}, now, kValid));
            pems_ = {std::move(made.certificate), std::move(made.key)};
        }
        return pems_;
    }

    OpensslCertificates maker_;
    HttpTlsPems pems_;  // of the server's threads, which take turns
    HttpServer server_;
    int port_;
    std::jthread thread_;
};

// The controller serves its webhook as soon as it has made the certificates.
void wait_listening(int port) {
    const auto deadline = Clock::now() + std::chrono::seconds(20);
    int fd = -1;
    while ((fd = connect_to(port)) < 0) {
        TESSERA_CHECK(Clock::now() < deadline, "the webhook listens within 20 seconds");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const Wire closed(fd);
}

struct Turn {
    std::vector<double> ours;
    std::vector<double> nothing;
};

bool run(const std::string& program, std::size_t bytes) {
    static const ClusterText text = make_cluster({.nodes = 10});
    const FakeApi& api = *new FakeApi(text);  // its threads end with the process
    const int service_port = free_port();
    const StartedController controller(
        program, api.port(),
        {fmt::format("--service-port={}", service_port),
         "--service=tessera-system/tessera-controller", "--webhook-scheduler=tessera-scheduler"});
    wait_listening(service_port);
    const Nothing nothing;
    const std::string body = review(bytes);
    std::vector<Turn> turns;
    for (int i = 0; i < kTurns; ++i) {
        turns.push_back({.ours = measure(service_port, body, R"("patch":)"),
                         .nothing = measure(nothing.port(), body, R"("allowed":true)")});
    }
    // Other work on the machine causes most of the tail. It disturbed least the turn in which the
    // webhook that does nothing had the shortest one.
    const auto floor = [](const Turn& turn) { return quantile(turn.nothing, 0.99); };
    std::ranges::sort(turns, {}, floor);
    const Turn& best = turns.front();
    const std::string what = fmt::format("{} requests/s of {} bytes: ", kPerSecond, body.size());
    shown(what + "nothing p50", quantile(best.nothing, 0.5), "ms");
    shown(what + "nothing p99", floor(best), "ms");
    shown(what + "webhook p50", quantile(best.ours, 0.5), "ms");
    const bool holds = at_most(what + "webhook p99", kMostMs, quantile(best.ours, 0.99), "ms");
    shown(what + "webhook p99, in the turn that was disturbed most",
          quantile(turns.back().ours, 0.99), "ms");
    return holds;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: admission_bench TESSERA_CONTROLLER\n");
        return 2;
    }
    bool holds = true;
    for (const std::size_t bytes : {std::size_t{3'000}, std::size_t{60'000}})
        holds &= tessera::bench::run(argv[1], bytes);
    return holds ? 0 : 1;
}
