#include "testing/bench/bind_watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kIdle{10};
constexpr std::size_t kParts = 10;

double seconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

class Count {
  public:
    // Takes a part of the stream: one event per line. The first "name" in a line is the pod's name.
    void take(std::string_view data) {
        rest_ += data;
        const auto now = Clock::now();
        std::size_t start = 0;
        for (std::size_t end = 0; (end = rest_.find('\n', start)) != std::string::npos;
             start = end + 1) {
            line(std::string_view(rest_).substr(start, end - start), now);
        }
        rest_.erase(0, start);
        if (!bound_.empty() && (shown_ == Clock::time_point{} || now - shown_ > kSecond)) {
            shown_ = now;
            fmt::print("{{\"bound\":{},\"seconds\":{:.3f}}}\n", bound_.size(),
                       seconds_between(bound_.front(), now));
            std::fflush(stdout);
        }
    }
    void again() { rest_.clear(); }
    [[nodiscard]] std::size_t size() const { return bound_.size(); }

    void summary() const {
        std::vector<int> parts;
        for (std::size_t p = 0; p < kParts && bound_.size() > kParts; ++p) {
            const std::size_t first = (bound_.size() - 1) * p / kParts;
            const std::size_t last = (bound_.size() - 1) * (p + 1) / kParts;
            const double took = seconds_between(bound_[first], bound_[last]);
            const auto many = static_cast<double>(last - first);
            parts.push_back(static_cast<int>(many / std::max(took, 0.001)));
        }
        const double took = bound_.empty() ? 0 : seconds_between(bound_.front(), bound_.back());
        fmt::print("{{\"bound\":{},\"seconds\":{:.3f},\"parts\":[{}]}}\n", bound_.size(), took,
                   fmt::join(parts, ","));
    }

  private:
    static constexpr std::chrono::seconds kSecond{1};

    void line(std::string_view text, Clock::time_point now) {
        constexpr std::string_view kName = R"("name":")";
        const std::size_t at = text.find(kName);
        if (at == std::string_view::npos) return;
        const std::string_view rest = text.substr(at + kName.size());
        const bool added = text.starts_with(R"({"type":"ADDED")");
        if (added && seen_.emplace(rest.substr(0, rest.find('"'))).second) bound_.push_back(now);
    }

    std::string rest_;
    std::unordered_set<std::string> seen_;
    std::vector<Clock::time_point> bound_;  // the time of each bind, in order
    Clock::time_point shown_;
};

}  // namespace

bool watch_binds(HttpClient& http, const BindWatch& watch) {
    const auto deadline = Clock::now() + std::chrono::seconds(watch.seconds);
    const auto wanted = static_cast<std::size_t>(watch.count);
    // A pod that is bound enters the selection, so the watch reports it as ADDED.
    const std::string path = fmt::format(
        "/api/v1/pods?watch=1&labelSelector=bench%3D{}&fieldSelector="
        "spec.nodeName%21%3D",
        watch.group);
    Count count;
    const auto more = [&](std::string_view data) {
        count.take(data);
        return count.size() < wanted && Clock::now() < deadline;
    };
    while (count.size() < wanted && Clock::now() < deadline) {
        count.again();
        const auto ended = http.stream(path, more, kIdle, {});
        if (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    count.summary();
    return count.size() >= wanted;
}

}  // namespace tessera::bench
