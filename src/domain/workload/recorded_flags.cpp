#include "domain/workload/recorded_flags.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace tessera::workload {
namespace {

// Where an entry of a list has its key.
enum class Key {
    whole,         // the entry itself
    before_equal,  // NAME=VALUE
    before_mark,   // NAME: VALUE or NAME=VALUE
    after_colon,   // SOURCE:/path, or the whole text without a colon
};

struct ListFlag {
    std::string_view name;
    Key key;
};
constexpr auto kLists = std::to_array<ListFlag>({
    {"--annotation", Key::before_equal},
    {"--config-file", Key::after_colon},
    {"--data", Key::after_colon},
    {"--data-dir", Key::after_colon},
    {"--data-subpath-expr", Key::whole},
    {"--device", Key::before_equal},
    {"--env", Key::before_equal},
    {"--env-from-secret", Key::before_equal},
    {"--image-pull-secret", Key::whole},
    {"--label", Key::before_equal},
    {"--liveness-probe-action-option", Key::before_mark},
    {"--liveness-probe-option", Key::before_mark},
    {"--load-model", Key::whole},
    {"--readiness-probe-action-option", Key::before_mark},
    {"--readiness-probe-option", Key::before_mark},
    {"--selector", Key::before_equal},
    {"--startup-probe-action-option", Key::before_mark},
    {"--startup-probe-option", Key::before_mark},
    {"--temp-dir", Key::after_colon},
    {"--toleration", Key::whole},
});

// If one of the first is given, the others are dropped.
struct Replaced {
    std::string_view flag;
    std::string_view drops;
};
constexpr auto kReplaced = std::to_array<Replaced>({
    {"--gpus", "--gpumemory"},
    {"--gpus", "--gpucore"},
    {"--gpumemory", "--gpus"},
    {"--model-config-file", "--model-name"},
    {"--model-config-file", "--model-path"},
    {"--model-config-file", "--version-policy"},
    {"--model-name", "--model-config-file"},
    {"--model-path", "--model-config-file"},
    {"--version-policy", "--model-config-file"},
    {"--liveness-probe-action", "--liveness-probe-action-option"},
    {"--readiness-probe-action", "--readiness-probe-action-option"},
    {"--startup-probe-action", "--startup-probe-action-option"},
    {"--command", "--"},
    {"--", "--command"},
});

// Without autoscaling the other flags for it mean nothing.
constexpr std::string_view kUnscaled = "--max-replicas=0";
constexpr auto kOfScaling = std::to_array<std::string_view>(
    {"--min-replicas", "--scale-down-delay", "--target-gpu-use", "--target-request-rate"});

std::string_view name_of(std::string_view flag) {
    return flag.substr(0, flag.find('='));
}

std::string_view value_of(std::string_view flag) {
    return flag.substr(std::min(flag.find('='), flag.size() - 1) + 1);
}

// Two flags with one identity replace each other.
std::string identity_of(std::string_view flag) {
    const std::string_view name = name_of(flag);
    const auto list = std::ranges::find(kLists, name, &ListFlag::name);
    if (list == kLists.end()) return std::string(name);
    std::string_view key = value_of(flag);
    if (list->key == Key::before_equal) key = key.substr(0, key.find('='));
    if (list->key == Key::before_mark) key = key.substr(0, key.find_first_of(":="));
    if (list->key == Key::after_colon) key = key.substr(key.find(':') + 1);
    return std::string(name) + "=" + std::string(key);
}

// Whether a flag chooses something: 0 GPUs are the default.
bool has(std::span<const std::string> flags, std::string_view name) {
    return std::ranges::any_of(flags, [&](const std::string& flag) {
        return name_of(flag) == name && !value_of(flag).empty() && flag != "--gpus=0";
    });
}

// The flags before the words, and the words with their "--".
struct Parts {
    std::span<const std::string> flags;
    std::span<const std::string> words;
};

Parts parts_of(const RecordedFlags& all) {
    const auto mark = std::ranges::find(all, "--");
    return {{all.begin(), mark}, {mark, all.end()}};
}

}  // namespace

RecordedFlags merged_flags(const RecordedFlags& earlier, const RecordedFlags& later) {
    const Parts before = parts_of(earlier);
    const Parts now = parts_of(later);
    const bool is_unscaled = std::ranges::find(now.flags, kUnscaled) != now.flags.end();
    const auto is_dropped = [&](std::string_view name) {
        if (is_unscaled && std::ranges::find(kOfScaling, name) != kOfScaling.end()) return true;
        return std::ranges::any_of(kReplaced, [&](const Replaced& row) {
            return row.drops == name &&
                   (row.flag == "--" ? !now.words.empty() : has(now.flags, row.flag));
        });
    };
    RecordedFlags out;
    const auto add = [&](const std::string& flag) {
        const std::string identity = identity_of(flag);
        const bool is_empty = value_of(flag).empty();  // removes all entries of a list
        std::erase_if(out, [&](const std::string& other) {
            return is_empty ? name_of(other) == name_of(flag) : identity_of(other) == identity;
        });
        if (!value_of(flag).empty()) out.push_back(flag);
    };
    for (const std::string& flag : before.flags) {
        if (!is_dropped(name_of(flag))) add(flag);
    }
    std::ranges::for_each(now.flags, add);
    const auto words = !now.words.empty() ? now.words
                       : is_dropped("--") ? std::span<const std::string>()
                                          : before.words;
    out.insert(out.end(), words.begin(), words.end());
    return out;
}

RecordedFlags flags_of(const std::vector<std::string>& recorded) {
    const auto first = std::ranges::find_if(
        recorded, [](const std::string& word) { return word.starts_with('-'); });
    return {first, recorded.end()};
}

}  // namespace tessera::workload
