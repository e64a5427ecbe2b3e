// The words that complete after each command of a program: its options, in the order in which they
// were added.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/cli/completion.hpp"

namespace tessera {

inline std::vector<CommandWords> completion_words(const CLI::App& app) {
    std::vector<CommandWords> out;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        std::string words;
        const auto add = [&words](const std::string& word) {
            words += (words.empty() ? "" : " ") + word;
        };
        for (const CLI::Option* option : command->get_options()) {
            for (const std::string& name : option->get_snames())
                add("-" + name);
            for (const std::string& name : option->get_lnames())
                add("--" + name);
            if (option->get_name() == "shell") add(std::string(kShells));
        }
        out.push_back({command->get_name(), command->get_description(), words});
    }
    return out;
}

}  // namespace tessera
