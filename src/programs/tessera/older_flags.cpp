#include "programs/tessera/older_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tessera {
namespace {

struct OlderFlag {
    std::string_view older;
    std::string_view newer;
};
constexpr auto kOlderFlags = std::to_array<OlderFlag>({
    {"--servingName", "--name"},
    {"--servingVersion", "--version"},
    {"--modelName", "--model-name"},
    {"--modelPath", "--model-path"},
    {"--modelConfigFile", "--model-config-file"},
    {"--versionPolicy", "--version-policy"},
    {"--restfulPort", "--restful-port"},
    {"--imagePullPolicy", "--image-pull-policy"},
});

}  // namespace

std::vector<std::string> with_newer_flags(std::vector<std::string> words,
                                          const std::function<void(const std::string&)>& warn) {
    const auto end = std::ranges::find(words, "--");
    const auto first = std::find(words.begin(), end, "serve");
    for (auto word = first; word != end; ++word) {
        const std::size_t length = std::min(word->find('='), word->size());
        const auto row = std::ranges::find(kOlderFlags, std::string_view(*word).substr(0, length),
                                           &OlderFlag::older);
        if (row == kOlderFlags.end()) continue;
        warn(fmt::format("{} is an older form; use {}", row->older, row->newer));
        word->replace(0, length, row->newer);
    }
    return words;
}

}  // namespace tessera
