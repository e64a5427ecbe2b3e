#include "testing/model_server/models.hpp"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>

namespace model_server {
namespace {

std::vector<std::int64_t> versions_on_disk(const std::string& base_path) {
    std::vector<std::int64_t> out;
    DIR* folder = opendir(base_path.c_str());
    if (folder == nullptr) return out;
    while (const dirent* entry = readdir(folder)) {
        const std::string name = entry->d_name;
        if (std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; }))
            out.push_back(std::stoll(name));
    }
    closedir(folder);
    std::ranges::sort(out);
    return out;
}

Versions load(const ModelConfig& model) {
    Versions out;
    std::vector<std::int64_t> numbers = versions_on_disk(model.base_path);
    if (!model.specific.empty()) {
        std::erase_if(numbers, [&](std::int64_t number) {
            return std::ranges::find(model.specific, number) == model.specific.end();
        });
    } else if (model.latest != 0 && numbers.size() > model.latest) {
        numbers.erase(numbers.begin(), numbers.end() - static_cast<std::ptrdiff_t>(model.latest));
    }
    for (const std::int64_t number : numbers) {
        Weights weights;
        std::istringstream text(read_file(fmt::format("{}/{}/weights", model.base_path, number)));
        if (!(text >> weights.a >> weights.b))
            fail(fmt::format("{}/{}/weights has not two numbers", model.base_path, number));
        out.emplace(number, weights);
    }
    return out;
}

}  // namespace

void fail(const std::string& text) {
    std::fprintf(stderr, "model_server: %s\n", text.c_str());
    std::exit(1);
}

std::string read_file(const std::string& path) {
    const std::ifstream file(path);
    if (!file) fail("cannot read " + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<ModelConfig> read_config(const std::string& path) {
    static const std::regex field(
        R"re((name|base_path):\s*"([^"]*)"|(num_versions|versions):\s*(\d+)|(all):)re");
    const std::string text = read_file(path);
    std::vector<ModelConfig> out;
    for (std::sregex_iterator at(text.begin(), text.end(), field), end; at != end; ++at) {
        const std::smatch& found = *at;
        if (found[1] == "name") out.push_back({.name = found[2], .base_path = {}, .specific = {}});
        if (out.empty()) continue;
        if (found[1] == "base_path") out.back().base_path = found[2];
        if (found[3] == "num_versions") out.back().latest = std::stoul(found[4]);
        if (found[3] == "versions") out.back().specific.push_back(std::stoll(found[4]));
        if (found[5] == "all") out.back().latest = 0;
    }
    if (out.empty()) fail("no model in " + path);
    return out;
}

Versions load_when_there(const ModelConfig& model) {
    while (true) {
        Versions versions = load(model);
        if (!versions.empty()) return versions;
        std::printf("No versions of servable %s found under base path %s\n", model.name.c_str(),
                    model.base_path.c_str());
        std::this_thread::sleep_for(std::chrono::seconds(1));
    }
}

const Weights* weights_of(const Versions& versions, std::optional<std::int64_t> version) {
    const auto found = version ? versions.find(*version) : std::prev(versions.end());
    return found == versions.end() ? nullptr : &found->second;
}

}  // namespace model_server
