// A small server that has the flags and the REST interface of TensorFlow Serving, for tests of
// `tessera serve`. A model is a folder with numbered versions; a version is a file `weights` with
// two numbers A and B, and the model computes A * x + B. Like TensorFlow, it takes its part of the
// GPU's memory through the CUDA driver when it starts, so the guard sees it.
//
// Source: TensorFlow Serving's documentation, "RESTful API" and "Serving Configuration".
#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "adapters/http/http.hpp"
#include "api/nvidia/cuda.h"

namespace {

using nlohmann::json;

struct Options {
    int rest_port = 0;
    std::string model_name;
    std::string model_base_path;
    std::string model_config_file;
    std::string monitoring_config_file;
    std::optional<double> fraction;
};

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

[[noreturn]] void fail(const std::string& text) {
    std::fprintf(stderr, "model_server: %s\n", text.c_str());
    std::exit(1);
}

Options parse(int argc, char** argv) {
    Options out;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const std::size_t equals = word.find('=');
        const std::string flag = word.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
        if (flag == "--rest_api_port") {
            out.rest_port = std::stoi(value);
        } else if (flag == "--model_name") {
            out.model_name = value;
        } else if (flag == "--model_base_path") {
            out.model_base_path = value;
        } else if (flag == "--model_config_file") {
            out.model_config_file = value;
        } else if (flag == "--monitoring_config_file") {
            out.monitoring_config_file = value;
        } else if (flag == "--per_process_gpu_memory_fraction") {
            out.fraction = std::stod(value);
        } else if (flag != "--port") {
            fail("unknown flag " + flag);
        }
    }
    return out;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) fail("cannot read " + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// The parts of model_config_list that tessera writes, and lists of several models.
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

std::vector<ModelConfig> models_of(const Options& options) {
    if (!options.model_config_file.empty()) return read_config(options.model_config_file);
    return {{.name = options.model_name, .base_path = options.model_base_path, .specific = {}}};
}

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

// As TensorFlow Serving: it waits for the first version, and says so.
Versions load_when_there(const ModelConfig& model) {
    while (true) {
        Versions versions = load(model);
        if (!versions.empty()) return versions;
        std::printf("No versions of servable %s found under base path %s\n", model.name.c_str(),
                    model.base_path.c_str());
        std::this_thread::sleep_for(std::chrono::seconds(1));
    }
}

void check(const char* call, CUresult result) {
    if (result != CUDA_SUCCESS) fail(fmt::format("{}: CUDA error {}", call, int{result}));
}

void take_memory(double fraction) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUdeviceptr pointer = 0;
    std::size_t total = 0;
    check("cuInit", cuInit(0));
    check("cuDeviceGet", cuDeviceGet(&device, 0));
    check("cuDeviceTotalMem", cuDeviceTotalMem_v2(&total, device));
    check("cuCtxCreate", cuCtxCreate_v2(&context, 0, device));
    const auto bytes = static_cast<std::size_t>(static_cast<double>(total) * fraction);
    check("cuMemAlloc", cuMemAlloc_v2(&pointer, bytes));
    std::printf("allocated %zu of %zu bytes of GPU 0\n", bytes, total);
}

json status_of(const Versions& versions) {
    json out = json::array();
    for (const auto& [number, weights] : versions) {
        out.push_back({{"version", std::to_string(number)},
                       {"state", "AVAILABLE"},
                       {"status", {{"error_code", "OK"}, {"error_message", ""}}}});
    }
    return {{"model_version_status", out}};
}

tessera::HttpResponse answer(int status, const json& body) {
    return {.status = status, .body = body.dump()};
}

tessera::HttpResponse predict(const std::string& text, const Versions& versions,
                              const std::string& version) {
    const auto chosen =
        version.empty() ? std::prev(versions.end()) : versions.find(std::stoll(version));
    if (chosen == versions.end())
        return answer(404, {{"error", "Servable not found for version " + version}});
    const json body = json::parse(text, nullptr, false);
    if (!body.is_object() || !body.contains("instances") || !body["instances"].is_array())
        return answer(400, {{"error", "Missing 'instances' key"}});
    json out = json::array();
    for (const json& instance : body["instances"]) {
        if (!instance.is_number()) return answer(400, {{"error", "an instance is no number"}});
        out.push_back(chosen->second.a * instance.get<double>() + chosen->second.b);
    }
    return answer(200, {{"predictions", out}});
}

using Models = std::map<std::string, Versions>;

// The metrics of a server: its path in the monitoring configuration (empty: none), and the number
// of predictions.
struct Metrics {
    std::string path;
    std::atomic<std::int64_t> predictions = 0;
};

// The path of prometheus_config.
std::string metrics_path(const std::string& config_file) {
    if (config_file.empty()) return {};
    static const std::regex field(
        R"re(prometheus_config\s*\{\s*enable:\s*true,\s*path:\s*"([^"]*)"\s*\})re");
    const std::string text = read_file(config_file);
    std::smatch found;
    if (!std::regex_search(text, found, field)) fail("no prometheus_config in " + config_file);
    return found[1];
}

tessera::HttpResponse expose(const Metrics& metrics) {
    return {.body = fmt::format("# TYPE :tensorflow:serving:request_count counter\n"
                                ":tensorflow:serving:request_count{{model_name=\"all\",status="
                                "\"OK\"}} {}\n",
                                metrics.predictions.load()),
            .content_type = "text/plain"};
}

tessera::HttpResponse respond(const tessera::HttpRequest& request, const Models& models,
                              Metrics& metrics) {
    if (!metrics.path.empty() && request.path == metrics.path) return expose(metrics);
    static const std::regex form(R"(/v1/models/([^/:]+)(?:/versions/([0-9]+))?(:predict)?)");
    std::smatch parts;
    if (!std::regex_match(request.path, parts, form))
        return answer(404, {{"error", "Malformed request"}});
    const auto model = models.find(parts[1]);
    if (model == models.end())
        return answer(404, {{"error", "Could not find any versions of model " + parts[1].str()}});
    if (request.method == "GET" && !parts[3].matched) return answer(200, status_of(model->second));
    if (request.method == "POST" && parts[3].matched) {
        ++metrics.predictions;
        return predict(request.body, model->second, parts[2]);
    }
    return answer(405, {{"error", "Unsupported method"}});
}

void serve(int port, const Models& models, Metrics& metrics) {
    tessera::HttpServer server(
        {.address = "0.0.0.0", .port = port},
        [&](tessera::HttpRequest& request) { return respond(request, models, metrics); });
    if (const auto bound = server.listen(); !bound) fail(bound.error().text);
    std::printf("Exporting HTTP/REST API at:0.0.0.0:%d\n", port);
    server.serve({});
}

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    // PID 1 of a container has no default actions.
    std::signal(SIGTERM, [](int) { std::_Exit(0); });
    std::signal(SIGINT, [](int) { std::_Exit(0); });
    const Options options = parse(argc, argv);
    const std::vector<ModelConfig> configs = models_of(options);
    if (options.fraction) take_memory(*options.fraction);
    Models models;
    for (const ModelConfig& config : configs)
        models.emplace(config.name, load_when_there(config));
    Metrics metrics{.path = metrics_path(options.monitoring_config_file)};
    serve(options.rest_port, models, metrics);
}
