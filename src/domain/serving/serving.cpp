#include "domain/serving/serving.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/dns_name.hpp"

namespace tessera::workload {
namespace {

// Of a Service, whose name is a DNS label.
constexpr std::size_t kLongestName = 63;

// `letter`: a Service's name, which begins with it, begins with a letter (RFC 1035).
Result<> check_part(std::string_view flag, const std::string& text, bool letter) {
    if (is_dns_label(text) && !(letter && text.front() <= '9')) return {};
    return fail(Code::invalid_argument,
                fmt::format("{}: \"{}\" is not a name of a-z, 0-9 and -, which begins with a "
                            "letter{} and ends with a letter or digit",
                            flag, text, letter ? "" : " or digit"));
}

}  // namespace

const ServingTypeRow& row_of(ServingType type) {
    return *std::ranges::find(kServingTypes, type, &ServingTypeRow::type);
}

Result<ServingType> parse_serving_type(std::string_view text) {
    if (text == "tf") return ServingType::tensorflow;
    for (const ServingTypeRow& row : kServingTypes) {
        if (text == row.command || text == row.word) return row.type;
    }
    return fail(
        Code::invalid_argument,
        fmt::format("--type: \"{}\" is not tf-serving, triton-serving or custom-serving", text));
}

std::string ServingName::object() const {
    return fmt::format("{}{}{}-{}", name, version.empty() ? "" : "-", version, row_of(type).app);
}

Result<> check_serving_name(const ServingName& id) {
    if (id.name.empty()) return fail(Code::invalid_argument, "--name: is missing");
    TRY_VOID(check_part("--name", id.name, true));
    if (!id.version.empty()) TRY_VOID(check_part("--version", id.version, false));
    const std::size_t length = id.object().size();
    if (length <= kLongestName) return {};
    const std::size_t others = length - id.name.size();
    return fail(
        Code::invalid_argument,
        fmt::format("--name: \"{}\" has {} characters, and may have at most {}: the name of "
                    "the Service, {}, is limited to {}",
                    id.name, id.name.size(), kLongestName > others ? kLongestName - others : 0,
                    id.object(), kLongestName));
}

ServingChange change_between(const Serving& before, const Serving& after) {
    return {.pods = before.pod != after.pod,
            .strategy = before.max_surge != after.max_surge ||
                        before.max_unavailable != after.max_unavailable,
            .scaling = before.scaling != after.scaling};
}

std::string files_name(const Serving& job) {
    return files_name(job.id.object(), job.pod.files);
}

}  // namespace tessera::workload
