#include "testing/bench/load_client.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kAtOnce = 24;
constexpr int kPageSize = 500;
constexpr milliseconds kDeadline{30'000};
constexpr std::chrono::seconds kPatience{60};
constexpr milliseconds kPause{20};

// metadata is before items, so the first "continue" is the one of the list.
std::string continue_token(const std::string& body) {
    constexpr std::string_view kKey = R"("continue":")";
    const std::size_t at = body.substr(0, 1000).find(kKey);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + kKey.size();
    return body.substr(begin, body.find('"', begin) - begin);
}

}  // namespace

std::string LoadClient::send(const HttpRequest& request) {
    const auto begin = Clock::now();
    while (true) {
        auto answer = http_.send(request, kDeadline);
        if (answer && answer->status / 100 == 2) return std::move(answer->body);
        const bool away = !answer || answer->status == 429 || answer->status >= 500;
        // An earlier attempt created the object, and its response was lost.
        if (answer && answer->status == 409 && request.method == "POST") return {};
        if (!away || Clock::now() - begin > kPatience) {
            fmt::print(stderr, "{} {}: {}\n", request.method, request.path,
                       answer ? answer->body : answer.error().text);
            std::exit(3);
        }
        std::this_thread::sleep_for(kPause);
    }
}

double LoadClient::each(int count, const std::function<void(int)>& one) {
    const auto begin = Clock::now();
    std::atomic<int> next = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < kAtOnce; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; (i = next++) < count;)
                one(i);
        });
    }
    threads.clear();
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::size_t LoadClient::list(const std::string& path,
                             const std::function<void(const std::string&)>& page) {
    std::size_t bytes = 0;
    std::string next;
    do {
        std::string query = fmt::format("{}?limit={}", path, kPageSize);
        if (!next.empty()) query += "&continue=" + next;
        const std::string body = send({.method = "GET", .path = query});
        bytes += body.size();
        page(body);
        next = continue_token(body);
    } while (!next.empty());
    return bytes;
}

}  // namespace tessera::bench
