#include "simulator/workload/fewer_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <utility>
#include <vector>

namespace tessera {
namespace {

// Indices of nodes.
using Nodes = std::vector<std::size_t>;

Result<Nodes> of_name(const Workload& workload, const std::string& name) {
    const auto found = std::ranges::find(workload.node_names, name);
    if (found == workload.node_names.end())
        return fail(Code::not_found, fmt::format("no node \"{}\" in the cluster", name));
    return Nodes{static_cast<std::size_t>(found - workload.node_names.begin())};
}

// Leaves out nodes that are removed already.
Result<Nodes> of_model(const Workload& workload, const FewerNodes& fewer,
                       const std::vector<bool>& goes, std::uint64_t seed) {
    const auto model = std::ranges::find(workload.model_names, fewer.name);
    if (model == workload.model_names.end()) {
        return fail(Code::not_found,
                    fmt::format("no node with \"{}\" in the cluster; there is {}", fewer.name,
                                fmt::join(workload.model_names, ", ")));
    }
    Nodes all;
    for (std::size_t node = 0; node < workload.nodes.size(); ++node) {
        if (workload.nodes[node].model == model - workload.model_names.begin()) all.push_back(node);
    }
    std::mt19937_64 draws(seed);
    for (std::size_t i = 0; i < all.size(); ++i)
        std::swap(all[i], all[i + draws() % (all.size() - i)]);
    std::erase_if(all, [&](std::size_t node) { return goes[node]; });
    const auto wanted = static_cast<std::size_t>(fewer.count);
    if (wanted > all.size()) {
        return fail(Code::invalid_argument, fmt::format("{} nodes with {} to leave out, of only {}",
                                                        wanted, fewer.name, all.size()));
    }
    all.resize(wanted);
    return all;
}

template <class T>
void keep(std::vector<T>& values, const std::vector<bool>& goes) {
    std::size_t at = 0;
    std::erase_if(values, [&](const T&) { return goes[at++]; });
}

}  // namespace

Result<FewerNodes> read_fewer_nodes(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::size_t ns = text.find(' ');
    if (ns == std::string_view::npos && !text.empty()) return FewerNodes{0, std::string(text)};
    int count = 0;
    const auto number = text.substr(0, ns);
    const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), count);
    const bool is_number = fault == std::errc{} && end == number.data() + number.size();
    if (!is_number || count < 1 || ns + 1 >= text.size()) {
        return fail(Code::invalid_argument,
                    fmt::format("\"{}\" is neither \"COUNT MODEL\" nor a node's name", text));
    }
    return FewerNodes{count, std::string(text.substr(ns + 1))};
}

Result<> take_out(Workload& workload, std::span<const FewerNodes> fewer, std::uint64_t seed) {
    std::vector<bool> goes(workload.nodes.size());
    const auto take = [&](const Nodes& nodes) {
        for (const std::size_t node : nodes)
            goes[node] = true;
    };
    for (const FewerNodes& one : fewer) {
        if (one.count > 0) continue;
        TRY(const Nodes nodes, of_name(workload, one.name));
        take(nodes);
    }
    for (const FewerNodes& one : fewer) {
        if (one.count == 0) continue;
        TRY(const Nodes nodes, of_model(workload, one, goes, seed));
        take(nodes);
    }
    keep(workload.nodes, goes);
    keep(workload.node_rows, goes);
    keep(workload.node_names, goes);
    return {};
}

}  // namespace tessera
