#include "domain/request/gang.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "base/quantity.hpp"

namespace tessera {

Result<GangMembership> parse_gang(std::string_view gang, std::string_view size,
                                  std::string_view source) {
    // It is part of reasons, which kube-scheduler prints as a format string.
    const bool is_name =
        !gang.empty() && gang.size() <= 253 && std::ranges::all_of(gang, [](char c) {
            return is_alnum(c) || c == '-' || c == '_' || c == '.';
        });
    if (!is_name) {
        return fail(Code::invalid_argument,
                    fmt::format("\"{}\" is not the name of a gang, whose size is in {}; write "
                                "letters, digits, '-', '_' or '.'",
                                gang.substr(0, 64), source));
    }
    const auto number = parse_whole_quantity(size);
    if (!number || *number < 1 || *number > kMostGangPods) {
        return fail(Code::invalid_argument,
                    fmt::format("{} is \"{}\"; write the number of pods of gang {} that are to be "
                                "placed together, 1 to {}",
                                source, size.substr(0, 64), gang.substr(0, 64), kMostGangPods));
    }
    return GangMembership{std::string(gang), static_cast<int>(*number)};
}

}  // namespace tessera
