#include "wire/host_resources.hpp"

#include <algorithm>
#include <string>

namespace tessera {
namespace {

// A quantity is text, or a number where somebody wrote YAML without quotes.
std::string text_of(JsonValue quantity) {
    const auto number = quantity.integer();
    return number ? std::to_string(*number) : quantity.text_or("");
}

// So many cores or bytes are no node's, and sums of them do not overflow.
constexpr std::int64_t kMost = std::int64_t{1} << 50;

HostAsk sum(const HostAsk& a, const HostAsk& b) {
    return {std::min(a.cpu_milli + b.cpu_milli, kMost),
            {std::min(a.memory.count + b.memory.count, kMost)}};
}

HostAsk most(const HostAsk& a, const HostAsk& b) {
    return {std::max(a.cpu_milli, b.cpu_milli), std::max(a.memory, b.memory)};
}

}  // namespace

HostAsk read_host_amounts(JsonValue amounts) {
    return {std::min(parse_milli_quantity(text_of(amounts["cpu"])).value_or(0), kMost),
            {std::min(parse_milli_quantity(text_of(amounts["memory"])).value_or(0) / 1000, kMost)}};
}

HostAsk read_host_ask(JsonValue spec) {
    HostAsk running;
    HostAsk peak;  // of the time before the app containers run
    for (const JsonValue container : spec["initContainers"].elements()) {
        const HostAsk ask = read_host_amounts(container["resources"]["requests"]);
        peak = most(peak, sum(running, ask));
        if (container["restartPolicy"].text_or("") == "Always") running = sum(running, ask);
    }
    for (const JsonValue container : spec["containers"].elements())
        running = sum(running, read_host_amounts(container["resources"]["requests"]));
    HostAsk ask = most(running, peak);
    const HostAsk own = read_host_amounts(spec["resources"]["requests"]);
    if (own.cpu_milli > 0) ask.cpu_milli = own.cpu_milli;
    if (own.memory.count > 0) ask.memory = own.memory;
    return sum(ask, read_host_amounts(spec["overhead"]));
}

}  // namespace tessera
