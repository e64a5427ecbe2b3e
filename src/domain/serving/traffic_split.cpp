#include "domain/serving/traffic_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/ascii.hpp"
#include "base/dns_name.hpp"
#include "domain/workload/refuse_flag.hpp"

namespace tessera::workload {
namespace {

constexpr std::string_view kFlag = "-v";
constexpr int kAll = 100;

// 0 to 100 without a leading zero.
std::optional<int> percent_of(std::string_view text) {
    if (text.size() > 1 && text[0] == '0') return std::nullopt;
    return parse_digits(text, kAll);
}

Result<VersionWeight> parse_weight(const std::string& text) {
    const std::size_t colon = text.find(':');
    VersionWeight out{text.substr(0, colon), kAll};
    const bool is_named = !out.version.empty() || colon != std::string::npos;
    if (!is_named || !(out.version.empty() || is_dns_label(out.version))) {
        return refuse(kFlag,
                      fmt::format("\"{}\" does not begin with a version; write VERSION:30", text));
    }
    if (colon == std::string::npos) return out;
    const auto percent = percent_of(std::string_view(text).substr(colon + 1));
    if (!percent) {
        return refuse(kFlag, fmt::format("\"{}\" does not end with a weight from 0 to 100; write "
                                         "{}:30",
                                         text, out.version));
    }
    out.percent = *percent;
    return out;
}

int weight_of(const TrafficRoute& route, const std::string& service) {
    const auto backend = std::ranges::find(route.backends, service, &RouteBackend::service);
    return backend == route.backends.end() ? 0 : backend->weight;
}

bool is_in_split(const ServingStatus& job) {
    return job.in_split.value_or(false);
}

std::string version_text(const ServingStatus& job) {
    return job.id.version.empty() ? "the job without a version" : "version " + job.id.version;
}

}  // namespace

Result<std::vector<VersionWeight>> parse_weights(const std::vector<std::string>& texts) {
    std::vector<VersionWeight> out;
    int sum = 0;
    for (const std::string& text : texts) {
        TRY(VersionWeight weight, parse_weight(text));
        if (std::ranges::find(out, weight.version, &VersionWeight::version) != out.end()) {
            return refuse(kFlag, fmt::format("\"{}\" names a version that was named before; name "
                                             "each version once",
                                             text));
        }
        sum += weight.percent;
        out.push_back(std::move(weight));
    }
    if (sum == kAll) return out;
    return refuse(kFlag, fmt::format("the weights total {}, and must total 100, as in v1:30 and "
                                     "v2:70",
                                     sum));
}

Result<GatewayName> parse_gateway(std::string_view text, const std::string& ns) {
    const std::size_t slash = text.find('/');
    GatewayName out{ns, std::string(text.substr(0, slash))};
    if (slash != std::string_view::npos) out.ns = text.substr(slash + 1);
    if (is_dns_name(out.name) && is_dns_label(out.ns)) return out;
    return refuse("--gateway",
                  fmt::format("\"{}\" is not NAME or NAME/NAMESPACE of a Gateway", text));
}

Result<std::string> parse_hostname(std::string_view text) {
    if (text == "*") return std::string();
    const std::string_view name = text.starts_with("*.") ? text.substr(2) : text;
    if (is_dns_name(std::string(name))) return std::string(text);
    return refuse("--hostname", fmt::format("\"{}\" is not a host name, such as "
                                            "models.example.com, *.example.com or * for all",
                                            text));
}

bool is_owned_by(std::span<const SplitOwner> owners, std::span<const ServingStatus> jobs) {
    return std::ranges::any_of(owners, [&](const SplitOwner& owner) {
        return std::ranges::find(jobs, owner.uid, &ServingStatus::uid) != jobs.end();
    });
}

std::string weights_text(std::span<const VersionWeight> weights) {
    std::string out;
    for (const VersionWeight& one : weights)
        out += fmt::format("{}{}:{}", out.empty() ? "" : ",", one.version, one.percent);
    return out;
}

bool is_split(std::span<const int> percents, std::span<const int> replicas) {
    const int sum = std::accumulate(replicas.begin(), replicas.end(), 0);
    if (sum == 0) return false;
    return std::ranges::equal(percents, replicas, [&](int percent, int pods) {
        return std::int64_t{pods} * kAll == std::int64_t{percent} * sum;
    });
}

std::vector<int> smallest_replicas(std::span<const int> percents, int total) {
    const int sum = std::accumulate(percents.begin(), percents.end(), 0);
    const int divisor = std::accumulate(percents.begin(), percents.end(), 0,
                                        [](int one, int other) { return std::gcd(one, other); });
    std::vector<int> out;
    out.reserve(percents.size());
    const int least = divisor == 0 ? 0 : sum / divisor;
    const int times = least == 0 ? 0 : std::max(1, (total + least - 1) / least);
    for (const int percent : percents)
        out.push_back(divisor == 0 ? 0 : percent / divisor * times);
    return out;
}

std::vector<int> parts_of_sum(std::span<const int> amounts) {
    const auto sum = std::accumulate(amounts.begin(), amounts.end(), std::int64_t{0});
    std::vector<int> out;
    out.reserve(amounts.size());
    for (const int amount : amounts) {
        out.push_back(sum == 0 ? 0
                               : static_cast<int>((std::int64_t{amount} * kAll + sum / 2) / sum));
    }
    return out;
}

void set_traffic(std::span<ServingStatus> jobs, const TrafficRoute* route,
                 const std::string& address) {
    if (route == nullptr && address.empty()) return;
    std::vector<int> amounts;
    amounts.reserve(jobs.size());
    for (const ServingStatus& job : jobs) {
        amounts.push_back(route != nullptr   ? weight_of(*route, job.object)
                          : is_in_split(job) ? job.available
                                             : 0);
    }
    // What of the route's weights reaches no job is a part of its traffic, too.
    if (route != nullptr) {
        for (const RouteBackend& backend : route->backends) {
            const auto job = std::ranges::find(jobs, backend.service, &ServingStatus::object);
            if (job == jobs.end()) amounts.push_back(backend.weight);
        }
    }
    const std::vector<int> parts = parts_of_sum(amounts);
    const auto takes_part = [&](std::size_t i) {
        return route != nullptr ? amounts[i] > 0 : is_in_split(jobs[i]);
    };
    int number = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        number += takes_part(i) ? 1 : 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        TrafficPart part{.by_route = route != nullptr,
                         .address = address,
                         .takes_part = takes_part(i),
                         .is_alone = takes_part(i) && number == 1,
                         .percent = parts[i],
                         .why = {}};
        if (route != nullptr) {
            part.address = route->hostname;
            part.why = route->why;
        }
        jobs[i].traffic = std::move(part);
    }
}

Result<> check_removal(const ServingStatus& job, std::span<const ServingStatus> jobs) {
    if (!job.traffic || !job.traffic->takes_part) return {};
    const ServingStatus* other = nullptr;  // the one that gets the most
    for (const ServingStatus& one : jobs) {
        if (one.id == job.id) continue;
        const auto part = [](const ServingStatus& of) {
            return of.traffic ? of.traffic->percent : 0;
        };
        if (other == nullptr || part(one) > part(*other)) other = &one;
        // kube-proxy sends the connections to the pods that are left.
        if (!job.traffic->by_route && part(one) > 0) return {};
    }
    if (other == nullptr) return {};
    return fail(Code::conflict,
                fmt::format("{} of {} gets {}% of the traffic of {}/{}, which would fail; first "
                            "send it elsewhere, as in: tessera serve traffic-split --name {} -n {} "
                            "-v {}:100",
                            version_text(job), job.id.name, job.traffic->percent,
                            job.traffic->by_route ? "httproute" : "service", job.id.name,
                            job.id.name, job.ns, other->id.version));
}

}  // namespace tessera::workload
