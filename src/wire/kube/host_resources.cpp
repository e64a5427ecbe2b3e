#include "wire/kube/host_resources.hpp"

#include <algorithm>
#include <string>

#include "domain/request/foreign_resources.hpp"

namespace tessera {
namespace {

// A quantity is text, or a number if the YAML had no quotes.
std::string text_of(JsonValue quantity) {
    const auto number = quantity.integer();
    return number ? std::to_string(*number) : quantity.text_or("");
}

// No node has this many cores or bytes, and sums of such amounts do not overflow.
constexpr std::int64_t kMost = std::int64_t{1} << 50;

HostRequest sum(const HostRequest& a, const HostRequest& b) {
    return {std::min(a.cpu_milli + b.cpu_milli, kMost),
            {std::min(a.memory.count + b.memory.count, kMost)}};
}

HostRequest most(const HostRequest& a, const HostRequest& b) {
    return {std::max(a.cpu_milli, b.cpu_milli), std::max(a.memory, b.memory)};
}

}  // namespace

std::set<std::string> read_foreign_requests(JsonValue pod) {
    std::set<std::string> out;
    for (const char* containers : {"initContainers", "containers"}) {
        for (const JsonValue container : pod["spec"][containers].elements()) {
            for (const char* list : {"requests", "limits"}) {
                for (const auto& [name, quantity] : container["resources"][list].members()) {
                    if (is_foreign_gpu_resource(name) && quantity.text_or("0") != "0")
                        out.emplace(name);
                }
            }
        }
    }
    return out;
}

HostRequest read_host_amounts(JsonValue amounts) {
    return {std::min(parse_milli_quantity(text_of(amounts["cpu"])).value_or(0), kMost),
            {std::min(parse_milli_quantity(text_of(amounts["memory"])).value_or(0) / 1000, kMost)}};
}

HostRequest read_host_request(JsonValue spec) {
    HostRequest running;
    HostRequest peak;  // maximum before the app containers run
    for (const JsonValue container : spec["initContainers"].elements()) {
        const HostRequest request = read_host_amounts(container["resources"]["requests"]);
        peak = most(peak, sum(running, request));
        if (container["restartPolicy"].text_or("") == "Always") running = sum(running, request);
    }
    for (const JsonValue container : spec["containers"].elements())
        running = sum(running, read_host_amounts(container["resources"]["requests"]));
    HostRequest request = most(running, peak);
    const HostRequest own = read_host_amounts(spec["resources"]["requests"]);
    if (own.cpu_milli > 0) request.cpu_milli = own.cpu_milli;
    if (own.memory.count > 0) request.memory = own.memory;
    return sum(request, read_host_amounts(spec["overhead"]));
}

}  // namespace tessera
