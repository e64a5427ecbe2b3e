#include "adapters/shell/worker_wait.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "adapters/shell/shell_socket.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kConnect{5};
constexpr std::chrono::seconds kPause{1};
constexpr std::chrono::seconds kReminder{60};

}  // namespace

void wait_for_workers(std::vector<std::string> hosts, int port, std::string_view secret,
                      const std::function<void(const std::string&)>& say) {
    const std::string all = std::to_string(hosts.size());
    std::size_t said = 0;
    auto last = Clock::now();
    for (;;) {
        std::vector<std::string> missing;
        std::string why;
        for (std::string& host : hosts) {
            const auto socket = connect_shell(host, port, secret, kConnect);
            if (socket) continue;
            if (missing.empty()) why = host + ": " + socket.error().text;
            missing.push_back(std::move(host));
        }
        if (missing.empty()) break;
        const auto now = Clock::now();
        if (missing.size() != said || now - last >= kReminder) {
            std::string line = "waiting for " + std::to_string(missing.size());
            line.append(" of ").append(all).append(" workers; ").append(why);
            say(line);
            said = missing.size();
            last = now;
        }
        hosts = std::move(missing);
        std::this_thread::sleep_for(kPause);
    }
    say("all " + all + " workers can be reached");
}

}  // namespace tessera
