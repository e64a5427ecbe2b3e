#include "wire/node/cgroup_text.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace tessera {
namespace {

constexpr std::string_view kPod = "pod";
constexpr std::size_t kUidLength = 36;

// RFC 4122, in lower case, as the API server generates them.
bool is_uid(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); i++) {
        const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        const char c = text[i];
        const bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (is_dash ? c != '-' : !is_hex) return false;
    }
    return text.size() == kUidLength;
}

}  // namespace

std::optional<PodUid> pod_of_cgroup(std::string_view text) {
    for (std::size_t at = text.find(kPod); at != std::string_view::npos;
         at = text.find(kPod, at + 1)) {
        // "pod" must be a path component of its own, or follow a dash.
        if (at == 0 || (text[at - 1] != '/' && text[at - 1] != '-')) continue;
        std::string uid(text.substr(at + kPod.size(), kUidLength));
        std::ranges::replace(uid, '_', '-');
        if (is_uid(uid)) return PodUid(std::move(uid));
    }
    return std::nullopt;
}

}  // namespace tessera
