#include "wire/extender/extender_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "base/dns_name.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/kube/node_rules_json.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

namespace od = simdjson::ondemand;

// A parser keeps six times its largest text. Each thread keeps one parser for requests of ordinary
// size; a huge request has a parser of its own, which is freed with it.
constexpr std::size_t kLargestKept = std::size_t{4} << 20;
constexpr std::size_t kLargestBody = std::size_t{1} << 30;

tl::unexpected<Error> bad_json(simdjson::error_code error) {
    return fail(Code::invalid_argument,
                fmt::format("not JSON: {}", simdjson::error_message(error)));
}

#define JSON_TRY(expression) \
    if (const simdjson::error_code error = (expression)) return bad_json(error)

// A name, and its text in the request, which the answer repeats. Nearly all of an answer is names;
// writing them again would be half of its cost.
Result<> read_name(od::value value, ExtenderArgs& args) {
    od::json_type type{};
    JSON_TRY(value.type().get(type));
    if (type != od::json_type::string) return bad_json(simdjson::INCORRECT_TYPE);
    std::string_view word = value.raw_json_token();
    word = word.substr(0, word.rfind('"') + 1);
    std::string_view name = word.substr(1, word.size() - 2);
    if (name.find('\\') != std::string_view::npos) JSON_TRY(value.get_string().get(name));
    args.names.push_back(name);
    args.words.push_back(word);
    return {};
}

Result<> read_names(od::value value, ExtenderArgs& args) {
    od::array names;
    JSON_TRY(value.get_array().get(names));
    for (auto item : names) {
        od::value name;
        JSON_TRY(item.get(name));
        TRY_VOID(read_name(name, args));
    }
    return {};
}

// A NodeList: the name of each item and its raw text, which is echoed without parsing the rest.
Result<> read_nodes(od::value value, ExtenderArgs& args) {
    od::object list;
    JSON_TRY(value.get_object().get(list));
    od::array items;
    const auto found = list.find_field_unordered("items").get_array().get(items);
    if (found == simdjson::INCORRECT_TYPE || found == simdjson::NO_SUCH_FIELD) return {};
    JSON_TRY(found);
    for (auto item : items) {
        od::object node;
        JSON_TRY(item.get_object().get(node));
        od::value name;
        JSON_TRY(node["metadata"]["name"].get(name));
        TRY_VOID(read_name(name, args));
        JSON_TRY(node.reset().error());
        std::string_view raw;
        JSON_TRY(node.raw_json().get(raw));
        args.raws.push_back(raw);
    }
    return {};
}

struct Fields {
    bool pod = false;
    bool names = false;
    bool nodes = false;
};

Result<> read_field(std::string_view key, od::value value, const Dialects& dialects,
                    ExtenderArgs& args, Fields& seen) {
    bool null = false;
    JSON_TRY(value.is_null().get(null));
    if (null) return {};
    if (equals_ignoring_case(key, "pod")) {
        od::object pod;
        JSON_TRY(value.get_object().get(pod));
        std::string_view raw;
        JSON_TRY(pod.raw_json().get(raw));
        TRY(const auto document, JsonDocument::parse(raw));
        args.pod = read_pod(document.root(), nullptr, dialects);
        args.has_preferences = has_preferences(document.root());
        seen.pod = true;
    } else if (equals_ignoring_case(key, "nodenames")) {
        // If both are given, the names win.
        args.names.clear();
        args.words.clear();
        args.raws.clear();
        TRY_VOID(read_names(value, args));
        seen.names = true;
    } else if (equals_ignoring_case(key, "nodes") && !seen.names) {
        TRY_VOID(read_nodes(value, args));
        seen.nodes = true;
    }
    return {};
}

}  // namespace

Result<ExtenderArgs> read_extender_args(std::string& body, const Dialects& dialects) {
    if (body.empty()) return fail(Code::invalid_argument, "EOF");
    body.reserve(body.size() + simdjson::SIMDJSON_PADDING);
    thread_local od::parser kept(kLargestKept);
    std::shared_ptr<od::parser> own;
    if (body.size() > kLargestKept) own = std::make_shared<od::parser>(kLargestBody);
    od::parser& parser = own ? *own : kept;
    od::document document;
    JSON_TRY(parser.iterate(simdjson::padded_string_view(body, body.capacity())).get(document));
    od::object root;
    JSON_TRY(document.get_object().get(root));
    ExtenderArgs args;
    args.parser = std::move(own);
    Fields seen;
    for (auto field : root) {
        std::string_view key;
        JSON_TRY(field.unescaped_key().get(key));
        od::value value;
        JSON_TRY(field.value().get(value));
        TRY_VOID(read_field(key, value, dialects, args, seen));
    }
    if (!seen.pod) return fail(Code::invalid_argument, "arg or pod is nil");
    if (!seen.names && !seen.nodes) return fail(Code::invalid_argument, "cannot get node names");
    args.full_objects = !seen.names;
    return args;
}

#undef JSON_TRY

namespace {

// kube-scheduler uses the text as a format string for its event: "30%" that a user wrote would
// appear as "30%!(NOVERB)".
std::string without_percent_signs(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '%') {
            out += " percent";
        } else {
            out += c;
        }
    }
    return out;
}

void append_reasons(std::string& out, const ExtenderArgs& args,
                    const std::vector<Refusal>& refusals) {
    std::vector<const Refusal*> rows;
    rows.reserve(refusals.size());
    for (const Refusal& refusal : refusals)
        rows.push_back(&refusal);
    const auto name_of = [&](const Refusal* refusal) { return args.names[refusal->node]; };
    std::ranges::sort(rows, {}, name_of);
    const auto repeated = std::ranges::unique(rows, {}, name_of);
    rows.erase(repeated.begin(), repeated.end());
    out += '{';
    for (const Refusal* refusal : rows) {
        if (out.back() != '{') out += ',';
        out += args.words[refusal->node];
        out += ':';
        const bool is_plain = refusal->reason.find('%') == std::string::npos;
        append_json_string(out,
                           is_plain ? refusal->reason : without_percent_signs(refusal->reason));
    }
    out += '}';
}

}  // namespace

std::string write_filter_result(const ExtenderArgs& args, const FilterAnswer& answer) {
    std::string out;
    out.reserve(256 + answer.fitting.size() * 32);
    out += R"({"Nodes":)";
    if (args.full_objects) {
        out += R"({"metadata":{},"items":[)";
        for (std::size_t i = 0; i < answer.fitting.size(); ++i) {
            if (i > 0) out += ',';
            out += args.raws[answer.fitting[i]];
        }
        out += "]}";
    } else {
        out += "null";
    }
    out += R"(,"NodeNames":[)";
    for (std::size_t i = 0; i < answer.fitting.size(); ++i) {
        if (i > 0) out += ',';
        out += args.words[answer.fitting[i]];
    }
    out += R"(],"FailedNodes":)";
    append_reasons(out, args, answer.failed);
    out += R"(,"FailedAndUnresolvableNodes":)";
    if (answer.unresolvable.empty()) {
        out += "null";
    } else {
        append_reasons(out, args, answer.unresolvable);
    }
    out += R"(,"Error":""})";
    return out;
}

std::string write_filter_error(std::string_view text) {
    return R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,)"
           R"("Error":)" +
           json_string(without_percent_signs(text)) + "}";
}

std::string write_priorities(const ExtenderArgs& args, const std::vector<int>& scores) {
    std::string out = "[";
    out.reserve(args.names.size() * 40);
    for (std::size_t i = 0; i < args.names.size(); ++i) {
        out += i == 0 ? R"({"Host":)" : R"(,{"Host":)";
        out += args.words[i];
        out += R"(,"Score":)";
        out += std::to_string(scores[i]);
        out += '}';
    }
    out += ']';
    return out;
}

namespace {

constexpr std::size_t kLongestUid = 128;

bool is_uid(std::string_view text) {
    return text.size() <= kLongestUid && std::ranges::none_of(text, [](char c) {
               return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
           });
}

}  // namespace

// The names become part of API server paths that we request with our rights, and any process on the
// host can post them.
Result<BindArgs> read_bind_args(std::string_view body) {
    if (body.empty()) return fail(Code::invalid_argument, "EOF");
    TRY(const auto document, JsonDocument::parse(body));
    const JsonValue root = document.root();
    BindArgs args;
    const auto read = [&](std::string_view name, std::string& into, bool (*good)(std::string_view),
                          std::string_view rule) -> Result<> {
        into = root.any_case(name).text_or("");
        if (into.empty()) return fail(Code::invalid_argument, fmt::format("{}: missing", name));
        if (good(into)) return {};
        return fail(Code::invalid_argument, fmt::format("{}: is not {}", name, rule));
    };
    constexpr std::string_view kName = "a DNS name (a-z, 0-9, - and .; up to 253)";
    constexpr std::string_view kLabel = "a DNS label (a-z, 0-9 and -; up to 63)";
    std::string uid;
    std::string node;
    TRY_VOID(read("PodName", args.pod.name, is_dns_name, kName));
    TRY_VOID(read("PodNamespace", args.pod.ns, is_dns_label, kLabel));
    TRY_VOID(read("PodUID", uid, is_uid, "a uid (no control characters; up to 128)"));
    TRY_VOID(read("Node", node, is_dns_name, kName));
    args.uid = PodUid(std::move(uid));
    args.node = NodeName(std::move(node));
    return args;
}

std::string write_bind_result(std::string_view error) {
    return R"({"Error":)" + json_string(error) + "}";
}

}  // namespace tessera
