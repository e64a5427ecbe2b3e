#include "domain/health/excluded_gpus.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <ranges>

#include "base/ascii.hpp"

namespace tessera {
namespace {

bool is_uuid(std::string_view text) {
    constexpr std::string_view kPrefix = "GPU-";
    return text.starts_with(kPrefix) && text.size() > kPrefix.size() &&
           std::ranges::all_of(text, [](char c) { return is_alnum(c) || c == '-'; });
}

bool is_index(const std::string& text, int& index) {
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, index);
    return error == std::errc{} && at == end && index >= 0;
}

}  // namespace

Result<ExcludedGpus> ExcludedGpus::parse(std::span<const std::string> entries) {
    ExcludedGpus out;
    for (const std::string& entry : entries) {
        int index = 0;
        const bool has_index = is_index(entry, index);
        if (!has_index && !is_uuid(entry)) {
            return fail(Code::invalid_argument,
                        fmt::format("excluded_gpus: \"{}\" is neither an index nor a UUID; write "
                                    "one as in 0 or GPU-… (nvidia-smi -L lists both)",
                                    entry));
        }
        const bool is_new = has_index ? out.indices_.insert(index).second
                                      : out.uuids_.insert(GpuUuid(entry)).second;
        if (is_new) continue;
        return fail(Code::invalid_argument,
                    fmt::format("excluded_gpus: \"{}\" appears twice; remove one of them", entry));
    }
    return out;
}

Result<> ExcludedGpus::resolve(const std::map<int, GpuUuid>& gpus) {
    for (const int index : indices_) {
        if (const auto gpu = gpus.find(index); gpu != gpus.end()) {
            uuids_.insert(gpu->second);
            continue;
        }
        const std::string listed =
            gpus.empty() ? "no GPU" : fmt::format("{}", fmt::join(std::views::keys(gpus), ", "));
        return fail(Code::invalid_argument,
                    fmt::format("excluded_gpus: there is no GPU {} on this node: the driver lists "
                                "{}; correct the index, or name the GPU by its UUID",
                                index, listed));
    }
    indices_.clear();
    return {};
}

}  // namespace tessera
