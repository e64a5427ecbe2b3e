#include "domain/request/gpu_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/ascii.hpp"
#include "base/label_value.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMostEntries = 64;
constexpr std::size_t kLongestEntry = 128;
constexpr std::string_view kBetweenWords = " -_";

// In lower case.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    const auto end_word = [&] {
        if (!word.empty()) words.push_back(std::exchange(word, {}));
    };
    for (const char c : text) {
        if (kBetweenWords.find(c) != std::string_view::npos) {
            end_word();
        } else {
            word += to_lower(c);
        }
    }
    end_word();
    return words;
}

// Removes the white space that a YAML block can add.
// Only characters of GPU names. The entry becomes part of a text that kube-scheduler prints as a
// format string, so a percent sign is not allowed.
bool is_entry(std::string_view text) {
    constexpr std::string_view kOthers = " ._/()+-:";
    return text.size() <= kLongestEntry && std::ranges::any_of(text, is_alnum) &&
           std::ranges::all_of(text, [&](char c) {
               return is_alnum(c) || kOthers.find(c) != std::string_view::npos;
           });
}

// `of` is the kind and the name: "annotation tessera.dev/gpu-models".
tl::unexpected<Error> refuse(const std::string& of, std::string_view text, std::string_view write) {
    return fail(Code::invalid_argument,
                fmt::format("{}: \"{}\" {}", of, text.substr(0, 64), write));
}

std::string annotation_named(std::string_view name) {
    return fmt::format("annotation {}", name);
}

// "a, b, !c": a or b, and not c.
struct Alternatives {
    std::vector<std::string> wanted;
    std::vector<std::string> barred;
};

Result<Alternatives> read_alternatives(std::string_view annotation, std::string_view text,
                                       std::string_view write) {
    Alternatives out;
    std::size_t entries = 0;
    for (std::string_view rest = text; !text.empty();) {
        const auto comma = rest.find(',');
        std::string_view entry = trimmed(rest.substr(0, comma));
        const bool is_barred = entry.starts_with('!');
        if (is_barred) entry = trimmed(entry.substr(1));
        if (!is_entry(entry) || ++entries > kMostEntries)
            return refuse(annotation_named(annotation), text, write);
        (is_barred ? out.barred : out.wanted).emplace_back(entry);
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
    }
    return out;
}

// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv): the same in every replica, unlike std::hash.
GpuGroup hash_of(std::string_view kind, std::string_view ns, std::string_view name) {
    GpuGroup hash = 0xCBF29CE484222325U;
    for (const std::string_view part : {kind, ns, name}) {
        for (const char c : part)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
        hash = (hash ^ '/') * 0x100000001B3U;
    }
    return hash;
}

Result<std::optional<GpuGroup>> read_group(std::string_view label, std::string_view text,
                                           std::string_view ns) {
    if (text.empty()) return std::optional<GpuGroup>{};
    if (!is_label_value(text)) {
        return refuse(fmt::format("label {}", label), text,
                      "is not a label's value; write up to 63 letters, digits, '-', '_' or '.', "
                      "the first and the last a letter or digit");
    }
    return std::optional(hash_of(label, ns, text));
}

Result<std::optional<Link>> read_link(std::string_view text) {
    if (text.empty()) return std::optional<Link>{};
    const auto row = std::ranges::find(kLinks, text, &LinkRow::name);
    if (row != kLinks.end()) return std::optional(row->link);
    return refuse(annotation_named(kGpuTopology), text,
                  "is no kind of link; write nvlink, pcie or numa");
}

struct IsolationRow {
    std::string_view word;
    Isolation isolation;
};

constexpr auto kIsolations = std::to_array<IsolationRow>(
    {{"guard", Isolation::guard}, {"mps", Isolation::mps}, {"driver", Isolation::driver}});

Result<std::optional<Isolation>> read_isolation(std::string_view text) {
    if (text.empty()) return std::optional<Isolation>{};
    const auto row = std::ranges::find(kIsolations, text, &IsolationRow::word);
    if (row != kIsolations.end()) return std::optional(row->isolation);
    return refuse(annotation_named(kIsolation), text, "is unknown; write guard, mps or driver");
}

std::vector<GpuUuid> uuids_of(const std::vector<std::string>& names) {
    std::vector<GpuUuid> out;
    out.reserve(names.size());
    for (const std::string& name : names)
        out.emplace_back(name);
    return out;
}

std::string_view text_of(const std::string& model) {
    return model;
}
std::string_view text_of(const GpuUuid& uuid) {
    return uuid.str();
}

// Names only the first few, because the answer contains the text once per node.
template <class Alternative>
std::string words_of_some(const std::vector<Alternative>& alternatives) {
    constexpr std::size_t kNamed = 3;
    std::string out;
    for (std::size_t i = 0; i < std::min(alternatives.size(), kNamed); ++i) {
        out += i == 0 ? "" : " or ";
        out += text_of(alternatives[i]).substr(0, 48);
    }
    if (alternatives.size() > kNamed)
        out += fmt::format(" or {} more", alternatives.size() - kNamed);
    return out;
}

bool is_one_of(const std::vector<std::string>& alternatives, std::string_view model) {
    return std::ranges::any_of(alternatives, [&](const std::string& alternative) {
        return is_of_model(alternative, model);
    });
}

bool is_one_of(const std::vector<GpuUuid>& alternatives, const GpuUuid& uuid) {
    return std::ranges::find(alternatives, uuid) != alternatives.end();
}

}  // namespace

std::vector<GpuGroup> GpuRules::groups() const {
    std::vector<GpuGroup> out;
    if (anti_affinity) out.push_back(*anti_affinity);
    if (affinity) out.push_back(*affinity);
    return out;
}

std::string_view word_of(Isolation isolation) {
    return std::ranges::find(kIsolations, isolation, &IsolationRow::isolation)->word;
}

Result<GpuRules> parse_gpu_rules(const GpuRuleTexts& texts, std::string_view ns) {
    TRY(Alternatives models,
        read_alternatives(
            kGpuModels, texts.models,
            "is no list of models; write such as \"A100, H100\", or \"!T4\" for any but "
            "that"));
    TRY(const Alternatives uuids,
        read_alternatives(
            kGpuUuids, texts.uuids,
            "is no list of GPUs; write their UUIDs as nvidia-smi -L shows them, with a "
            "\"!\" before one for any but that"));
    GpuRules rules{.models = std::move(models.wanted),
                   .barred_models = std::move(models.barred),
                   .uuids = uuids_of(uuids.wanted),
                   .barred_uuids = uuids_of(uuids.barred),
                   .anti_affinity = {},
                   .affinity = {},
                   .joins = false,
                   .link = {},
                   .isolation = {}};
    TRY(rules.anti_affinity, read_group(kGpuAntiAffinity, texts.anti_affinity, ns));
    TRY(rules.affinity, read_group(kGpuAffinity, texts.affinity, ns));
    TRY(rules.link, read_link(texts.topology));
    TRY(rules.isolation, read_isolation(texts.isolation));
    return rules;
}

bool is_of_model(std::string_view alternative, std::string_view model) {
    const auto wanted = words_of(alternative);
    const auto words = words_of(model);
    return !wanted.empty() && !std::ranges::search(words, wanted).empty();
}

bool admits_uuid(const GpuRules& rules, const GpuUuid& uuid) {
    if (!rules.uuids.empty() && !is_one_of(rules.uuids, uuid)) return false;
    return !is_one_of(rules.barred_uuids, uuid);
}

bool admits_model(const GpuRules& rules, std::string_view model) {
    if (!rules.models.empty() && !is_one_of(rules.models, model)) return false;
    return !is_one_of(rules.barred_models, model);
}

std::string describe_rules(const GpuRules& rules) {
    std::string out = "a GPU";
    if (!rules.models.empty()) out += " of model " + words_of_some(rules.models);
    if (!rules.barred_models.empty()) out += " that is no " + words_of_some(rules.barred_models);
    if (!rules.uuids.empty()) out += " with the UUID " + words_of_some(rules.uuids);
    if (!rules.barred_uuids.empty()) out += " but " + words_of_some(rules.barred_uuids);
    return out;
}

}  // namespace tessera
