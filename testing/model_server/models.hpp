// Models on a disk: a folder with numbered versions. A version is a file `weights` with two numbers
// A and B, and the model computes A * x + B.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace model_server {

struct ModelConfig {
    std::string name;
    std::string base_path;
    std::size_t latest = 1;              // number of versions to serve; 0: all
    std::vector<std::int64_t> specific;  // or these
};

struct Weights {
    double a = 0;
    double b = 0;
};

// Version -> its weights.
using Versions = std::map<std::int64_t, Weights>;
// Name -> its versions.
using Models = std::map<std::string, Versions>;

// Prints why, and ends the program with status 1.
[[noreturn]] void fail(const std::string& text);

std::string read_file(const std::string& path);

// The parts of model_config_list that tessera writes, and lists of several models.
std::vector<ModelConfig> read_config(const std::string& path);

// As TensorFlow Serving: it waits for the first version, and says so.
Versions load_when_there(const ModelConfig& model);

// The newest version, or the one that is named; null if there is none.
const Weights* weights_of(const Versions& versions, std::optional<std::int64_t> version);

}  // namespace model_server
