#include "programs/common/completion_words.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "domain/placement/engine/policy.hpp"

namespace tessera {
namespace {

std::vector<std::string> words_in(std::string_view text, char separator) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        out.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::vector<std::string> policies() {
    std::vector<std::string> out;
    for (const PlacementPolicyRow& policy : placement_policies()) {
        if (!policy.is_simulated_only) out.emplace_back(policy.name);
    }
    return out;
}

// CLI::IsMember describes its values in the name of the option's type: "TEXT:{json,yaml}". A
// command checks a policy and a shell itself.
std::vector<std::string> values_of(const CLI::Option& option) {
    if (option.check_lname("policy")) return policies();
    if (option.get_name() == "shell") return words_in(kShells, ' ');
    const std::string type = option.get_type_name();
    const std::size_t begin = type.find('{');
    const std::size_t end = type.find('}', begin);
    if (begin == std::string::npos || end == std::string::npos) return {};
    return words_in(std::string_view(type).substr(begin + 1, end - begin - 1), ',');
}

}  // namespace

std::vector<CommandWords> completion_words(const CLI::App& app) {
    std::vector<CommandWords> out;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        CommandWords words{.name = command->get_name(),
                           .summary = command->get_description(),
                           .commands = completion_words(*command),
                           .aliases = command->get_aliases()};
        for (const CLI::Option* option : command->get_options()) {
            OptionWords one{.names = {},
                            .takes_value = option->get_items_expected_max() > 0,
                            .values = values_of(*option)};
            for (const std::string& name : option->get_snames())
                one.names.push_back("-" + name);
            for (const std::string& name : option->get_lnames())
                one.names.push_back("--" + name);
            words.options.push_back(std::move(one));
        }
        out.push_back(std::move(words));
    }
    return out;
}

}  // namespace tessera
